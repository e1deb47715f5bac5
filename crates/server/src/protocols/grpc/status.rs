//! Status of a call: a code and a message, as trailers have them.

use std::borrow::Cow;

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use crate::protocols::rls::failure::Failure;

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
/// Characters of a message that are percent-encoded.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'`')
    .add(b'?')
    .add(b'{')
    .add(b'}');

/// Status code of gRPC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum StatusCode {
    Ok = 0,
    Cancelled = 1,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

/// Status of a call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Status {
    code: StatusCode,
    message: Cow<'static, str>,
}

impl Status {
    pub(crate) fn new(code: StatusCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn internal(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::Internal, message)
    }

    pub(crate) fn unimplemented(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::Unimplemented, message)
    }

    pub(crate) fn unavailable(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::Unavailable, message)
    }

    pub(crate) fn invalid_argument(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::InvalidArgument, message)
    }

    pub(crate) fn deadline_exceeded(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(StatusCode::DeadlineExceeded, message)
    }

    /// The server shuts down.
    pub(crate) fn shutting_down() -> Self {
        Self::unavailable("the server is shutting down; retry elsewhere")
    }

    /// Trailers of a call that succeeded.
    pub(crate) fn put_ok(headers: &mut HeaderMap) {
        headers.insert(GRPC_STATUS, HeaderValue::from(StatusCode::Ok as u16));
    }

    /// Trailers of a call that failed.
    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        headers.insert(GRPC_STATUS, HeaderValue::from(self.code as u16));
        let message = Cow::from(percent_encode(self.message.as_bytes(), ESCAPED));
        if !message.is_empty()
            && let Ok(message) = HeaderValue::from_str(&message)
        {
            headers.insert(GRPC_MESSAGE, message);
        }
    }
}

impl From<Failure> for Status {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Invalid(why) => Self::invalid_argument(why),
            Failure::Unavailable(why) => Self::unavailable(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_escaped() {
        let rows = [
            ("", None),
            ("plain", Some("plain")),
            ("100% of \"{a}\"", Some("100%25%20of%20%22%7Ba%7D%22")),
            ("Zo\u{eb}\n", Some("Zo%C3%AB%0A")),
        ];
        for (message, expected) in rows {
            let mut headers = HeaderMap::new();
            Status::unavailable(message).put(&mut headers);
            assert_eq!(headers[GRPC_STATUS], "14");
            assert_eq!(headers.get(GRPC_MESSAGE).map(|value| value.to_str().expect("ASCII")), expected);
        }
    }
}
