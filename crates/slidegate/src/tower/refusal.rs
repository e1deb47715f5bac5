//! Refusals as responses: problem details of RFC 9457, or a gRPC status.

use std::fmt::Write;
use std::iter;

use ::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use slidegate_core::{Source, Wait};

use crate::gate::{Answer, LimitAnswer};
use crate::http::json;
use crate::http::verdict_json::{
    LimitRow, REDUCED_CAPACITY, VerdictRow, blocked_detail, denial_title, put_denial, put_problem,
};
use crate::permit::PermitError;
use slidegate_policy::Blocked;

const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
pub(super) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
pub(super) const GRPC_RETRY_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");
/// Size of most bodies.
const BODY_BYTES: usize = 640;

/// Function that renders refusals.
pub(super) type RefuseFn = dyn Fn(&Refusal<'_>) -> Response<Bytes> + Send + Sync;

/// Response to a refused request: that of the application, or else by its protocol.
pub(super) fn respond(
    refusal: &Refusal<'_>,
    render: Option<&RefuseFn>,
    request: &HeaderMap,
) -> Response<Bytes> {
    match render {
        Some(render) => render(refusal),
        None if is_grpc(request) => refusal.grpc(),
        None => refusal.problem(),
    }
}

/// Refusal of a request.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Refusal<'a> {
    /// Limits deny it.
    Denied(&'a Answer),
    /// A rule blocks it, whatever its limits say.
    Blocked {
        /// Name of the rule.
        rule: &'a str,
        /// Reason.
        reason: Blocked,
    },
    /// The subject has as many open permits as it may.
    TooManyPermits {
        /// What decided so.
        decided_by: Source,
        /// Time of the decision.
        decided_at_ms: u64,
    },
    /// An attribute cannot be used. The text says which.
    Invalid(&'a str),
    /// The store is unavailable.
    Unavailable,
    /// An adaptive limit is reached.
    Overloaded {
        /// Partition of the request.
        partition: &'a str,
    },
}

impl Refusal<'_> {
    /// Status of the response: 429, 403, 400 or 503.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Denied(_) | Self::TooManyPermits { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Blocked { .. } => StatusCode::FORBIDDEN,
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
            Self::Unavailable | Self::Overloaded { .. } => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// Wait after which the request is admitted, if nothing else comes. That of an adaptive limit is
    /// unknown.
    pub fn wait(&self) -> Wait {
        match self {
            Self::Denied(answer) => answer.summary().wait,
            Self::Blocked { .. }
            | Self::TooManyPermits { .. }
            | Self::Invalid(_)
            | Self::Unavailable
            | Self::Overloaded { .. } => Wait::Never,
        }
    }

    /// Explanation for people.
    pub fn detail(&self) -> String {
        let mut text = String::with_capacity(128);
        match self {
            Self::Denied(answer) => {
                let mut separator = "";
                for limit in answer.limits().filter(LimitAnswer::is_violated) {
                    text.extend([separator, limit.name]);
                    separator = ", ";
                }
                text.push_str(match (answer.verdict().source, self.wait()) {
                    (Source::Assumed, _) => ": the store is unavailable, and the rule denies meanwhile",
                    (_, Wait::Never) => ": the cost exceeds the limit",
                    _ => ": quota exceeded",
                });
                if let Some(ms) = self.wait().exact_ms() {
                    text.push_str("; retry in ");
                    text.push_str(itoa::Buffer::new().format(ms));
                    text.push_str(" ms");
                }
            }
            Self::Blocked { rule, reason } => return blocked_detail(rule, *reason),
            Self::TooManyPermits { .. } => {
                let _ = write!(text, "{}", PermitError::TooManyOpen);
            }
            Self::Invalid(error) => text.push_str(error),
            Self::Unavailable => text.push_str("the store of the rate limits is unavailable; retry"),
            Self::Overloaded { .. } => text.push_str("as many requests run as the service can take; retry"),
        }
        text
    }

    /// Response with problem details (`application/problem+json`).
    pub fn problem(&self) -> Response<Bytes> {
        let status = self.status();
        let title = match self {
            Self::Denied(answer) => denial_title(answer.verdict().source),
            Self::Unavailable | Self::Overloaded { .. } => REDUCED_CAPACITY,
            Self::Blocked { .. } | Self::TooManyPermits { .. } | Self::Invalid(_) => {
                ("about:blank", status.canonical_reason().unwrap_or("Error"))
            }
        };
        let mut body = Vec::with_capacity(BODY_BYTES);
        body.push(b'{');
        put_problem(&mut body, title, status.as_u16());
        json::put_text(&mut body, ",\"detail\":", &self.detail());
        match *self {
            Self::Denied(answer) => {
                let verdict = VerdictRow::new(answer.verdict(), &answer.summary());
                put_denial(&mut body, &verdict, || answer.limits().map(LimitRow::from));
            }
            Self::TooManyPermits { decided_by, decided_at_ms } => {
                put_denial(&mut body, &VerdictRow::without_limits(decided_by, decided_at_ms), iter::empty);
                body.extend_from_slice(b",\"outcome\":\"too_many_permits\"");
            }
            Self::Blocked { .. } | Self::Invalid(_) | Self::Unavailable | Self::Overloaded { .. } => {}
        }
        body.push(b'}');
        let mut response = Response::new(Bytes::from(body));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, PROBLEM_JSON);
        response
    }

    /// Response with a gRPC status and no messages.
    pub fn grpc(&self) -> Response<Bytes> {
        let status = match self {
            Self::Denied(_) | Self::TooManyPermits { .. } => "8",
            Self::Blocked { .. } => "7",
            Self::Invalid(_) => "3",
            Self::Unavailable | Self::Overloaded { .. } => "14",
        };
        let mut response = Response::new(Bytes::new());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, GRPC);
        headers.insert(GRPC_STATUS, HeaderValue::from_static(status));
        if let Ok(message) = HeaderValue::from_str(&percent_encoded(&self.detail())) {
            headers.insert(GRPC_MESSAGE, message);
        }
        // A negative value tells the client not to retry. Without one it waits as long as it likes, until
        // a slot may be free or the store is there again.
        let pushback = match (self, self.wait()) {
            (_, Wait::After(ms)) => HeaderValue::from(ms),
            (Self::Unavailable | Self::Overloaded { .. } | Self::TooManyPermits { .. }, _)
            | (_, Wait::Within(_)) => return response,
            _ => HeaderValue::from_static("-1"),
        };
        headers.insert(GRPC_RETRY_PUSHBACK, pushback);
        response
    }
}

/// Whether a request is a gRPC call.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| kind.len() >= 16 && kind[..16].eq_ignore_ascii_case(b"application/grpc"))
}

/// Text of `grpc-message`.
fn percent_encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
