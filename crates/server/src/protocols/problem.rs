//! Problem details: `application/problem+json` of RFC 9457.

use std::iter;

use bytes::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{HeaderMap, StatusCode};
use slidegate::http::json;
use slidegate::http::verdict_json::{VerdictRow, put_denial, put_problem};
use slidegate::{GateError, Source, Store};

use super::reply_body::ReplyBody;
use crate::runtime::backend::Backend;

/// Response of a handler.
pub(crate) type Reply = hyper::Response<ReplyBody>;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Problem: the reason why a request is not served, and what would be valid.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: Box<str>,
    header: Option<(HeaderName, HeaderValue)>,
    /// Additional members, each after a comma.
    members: Vec<u8>,
    kind: ProblemType,
}

/// Type of a problem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ProblemType {
    /// `about:blank`: the status is enough.
    Blank,
    ReducedCapacity,
}

impl ProblemType {
    /// Type and title, as in the registry of problem types.
    fn type_and_title(self, status: StatusCode) -> (&'static str, &'static str) {
        const TYPE: &str = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
        match self {
            Self::Blank => ("about:blank", status.canonical_reason().unwrap_or("Error")),
            Self::ReducedCapacity => (TYPE, "Temporary Reduced Capacity"),
        }
    }
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let detail: String = detail.into();
        Self { status, detail: detail.into(), header: None, members: Vec::new(), kind: ProblemType::Blank }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(crate) fn not_found(path: &str) -> Self {
        let detail = format!("no endpoint at {path:?}; GET /openapi.json lists all");
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// Problem of a wrong method; `allow` lists the valid ones.
    pub(crate) fn method_not_allowed(allow: &'static str) -> Self {
        let detail = format!("allowed methods: {allow}");
        let header = Some((ALLOW, HeaderValue::from_static(allow)));
        Self { header, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    pub(crate) fn unauthorized() -> Self {
        let detail = "missing or invalid bearer token";
        let header = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"slidegate\"")));
        Self { header, ..Self::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// The store did not answer, and there is no fallback.
    pub(crate) fn store(error: &impl std::error::Error) -> Self {
        Self::unanswered(format!("the store is unavailable, retry: {error}"))
    }

    /// Problem of an unavailable store, with another text.
    pub(crate) fn unanswered(detail: impl Into<String>) -> Self {
        let header = Some((RETRY_AFTER, HeaderValue::from_static("1")));
        Self { header, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// Problem of a request that the server could serve at another time.
    pub(crate) fn overloaded(detail: impl Into<String>) -> Self {
        let header = Some((RETRY_AFTER, HeaderValue::from_static("1")));
        let kind = ProblemType::ReducedCapacity;
        Self { header, kind, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// Problem of a request that took too long to arrive.
    pub(crate) fn too_slow() -> Self {
        let detail = "timed out reading the request";
        Self::new(StatusCode::REQUEST_TIMEOUT, detail)
    }

    /// Detail text.
    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    /// Adds the member `outcome`.
    pub(crate) fn outcome(mut self, outcome: &'static str) -> Self {
        json::put_text(&mut self.members, ",\"outcome\":", outcome);
        self
    }

    /// Adds the members of a denial by no limit: those of any 429.
    fn denied(mut self, decided_by: Source, decided_at_ms: u64) -> Self {
        put_denial(&mut self.members, &VerdictRow::without_limits(decided_by, decided_at_ms), iter::empty);
        self
    }

    pub(crate) fn into_reply(self) -> Reply {
        let (status, headers, body) = self.into_parts();
        let mut reply = Reply::new(ReplyBody::whole(body));
        *reply.status_mut() = status;
        *reply.headers_mut() = headers;
        reply
    }

    /// Status, headers and body.
    pub(crate) fn into_parts(self) -> (StatusCode, HeaderMap, Vec<u8>) {
        let mut body = Vec::with_capacity(128 + self.detail.len());
        body.push(b'{');
        put_problem(&mut body, self.kind.type_and_title(self.status), self.status.as_u16());
        json::put_text(&mut body, ",\"detail\":", &self.detail);
        body.extend_from_slice(&self.members);
        body.push(b'}');
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        headers.extend(self.header);
        (self.status, headers, body)
    }
}

/// Response with a body.
pub(crate) fn reply(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut reply = Reply::new(ReplyBody::whole(body));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}

impl From<GateError<<Backend as Store>::Error>> for Problem {
    fn from(error: GateError<<Backend as Store>::Error>) -> Self {
        match error {
            GateError::Request(error) => Problem::bad_request(error.to_string()),
            GateError::Conflict => Problem::new(StatusCode::CONFLICT, error.to_string()),
            GateError::Full => Problem::overloaded(error.to_string()),
            GateError::TooManyPermits { decided_by, decided_at_ms } => {
                let refused = Problem::new(StatusCode::TOO_MANY_REQUESTS, error.to_string());
                refused.denied(decided_by, decided_at_ms).outcome("too_many_permits")
            }
            GateError::Store(error) => Problem::store(&error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_permits_have_the_members_of_a_denial() {
        let error = GateError::TooManyPermits { decided_by: Source::Store, decided_at_ms: 7 };
        let (status, _, body) = Problem::from(error).into_parts();
        let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
        let api: serde_json::Value = serde_json::from_str(include_str!("rest/openapi.json")).expect("JSON");
        let schema = &api["components"]["schemas"]["Refusal"];
        let members = body.as_object().expect("an object");
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        assert!(
            schema["required"]
                .as_array()
                .expect("a list")
                .iter()
                .all(|name| { members.contains_key(name.as_str().expect("text")) })
        );
        assert!(members.keys().all(|name| !schema["properties"][name].is_null()), "{body}");
        assert_eq!((&body["allowed"], &body["decided_at_ms"]), (&false.into(), &7.into()));
    }

    #[test]
    fn no_room_for_an_idempotency_key_is_a_503_that_says_so() {
        let (status, headers, body) = Problem::from(GateError::Full).into_parts();
        assert_eq!(status, hyper::StatusCode::SERVICE_UNAVAILABLE);
        assert!(headers.contains_key(hyper::header::RETRY_AFTER));
        let body = String::from_utf8(body).expect("JSON");
        assert!(body.contains("no room to remember another idempotency key"), "{body}");
    }
}
