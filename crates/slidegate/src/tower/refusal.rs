//! Refusals as responses: problem details of RFC 9457, or a gRPC status.

use std::fmt::Write;

use ::http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use slidegate_core::{Source, Wait};

use super::verdict_json::{DenialOrigin, write_denial};
use crate::gate::{Answer, LimitAnswer};
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
        self.write_detail(&mut text);
        text
    }

    fn write_detail(&self, text: &mut String) {
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
            Self::Blocked { rule, reason } => {
                let reason = match reason {
                    Blocked::DenyList => "is on its deny list",
                    Blocked::MissingKey => "lacks an attribute of its key",
                };
                text.extend(["rule ", rule, " blocks this request: it ", reason]);
            }
            Self::TooManyPermits { .. } => {
                let _ = write!(text, "{}", PermitError::TooManyOpen);
            }
            Self::Invalid(error) => text.push_str(error),
            Self::Unavailable => text.push_str("the store of the rate limits is unavailable; retry"),
            Self::Overloaded { .. } => text.push_str("as many requests run as the service can take; retry"),
        }
    }

    /// Response with problem details (`application/problem+json`).
    pub fn problem(&self) -> Response<Bytes> {
        const QUOTA: (&str, &str) = (
            "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "Request cannot be satisfied as assigned quota has been exceeded",
        );
        const CAPACITY: (&str, &str) = (
            "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
            "Request cannot be satisfied due to temporary server capacity constraints",
        );
        let status = self.status();
        let (kind, title) = match self {
            Self::Denied(answer) if answer.verdict().source == Source::Assumed => CAPACITY,
            Self::Denied(_) => QUOTA,
            Self::Unavailable | Self::Overloaded { .. } => CAPACITY,
            Self::Blocked { .. } | Self::TooManyPermits { .. } | Self::Invalid(_) => {
                ("about:blank", status.canonical_reason().unwrap_or("Error"))
            }
        };
        let mut body = String::with_capacity(BODY_BYTES);
        body.extend(["{\"type\":\"", kind, "\",\"title\":\"", title, "\",\"status\":", status.as_str()]);
        body.push_str(",\"detail\":\"");
        match self {
            Self::Invalid(error) => escape(&mut body, error),
            // Names of limits need no escapes.
            _ => self.write_detail(&mut body),
        }
        body.push('"');
        match *self {
            Self::Denied(answer) => {
                let verdict = answer.verdict();
                let origin = DenialOrigin { source: verdict.source, at_ms: verdict.decided_at_ms };
                write_denial(&mut body, origin, Some(answer));
            }
            Self::TooManyPermits { decided_by, decided_at_ms } => {
                write_denial(&mut body, DenialOrigin { source: decided_by, at_ms: decided_at_ms }, None);
                body.push_str(",\"outcome\":\"too_many_permits\"");
            }
            Self::Blocked { .. } | Self::Invalid(_) | Self::Unavailable | Self::Overloaded { .. } => {}
        }
        body.push('}');
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

/// Text inside of a JSON string.
fn escape(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
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
