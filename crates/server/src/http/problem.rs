//! What is said when something is wrong: `application/problem+json`, as RFC 9457 has it.

use bytes::Bytes;
use http_body_util::Full;
use hyper::StatusCode;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};

use super::json;

/// What every handler gives.
pub(super) type Reply = hyper::Response<Full<Bytes>>;

pub(super) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// Why a request is not served, and what would be right.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    header: Option<(HeaderName, HeaderValue)>,
    /// A member beside the usual ones.
    outcome: Option<&'static str>,
}

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), header: None, outcome: None }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn not_found(path: &str) -> Self {
        let detail = format!("there is nothing at {path:?}; GET /openapi.json lists what there is");
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// `allow` lists the methods that there are.
    pub(super) fn method_not_allowed(allow: &'static str) -> Self {
        let detail = format!("this path takes {allow}");
        let header = Some((ALLOW, HeaderValue::from_static(allow)));
        Self { header, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    pub(super) fn unauthorized() -> Self {
        let detail = "this needs the header Authorization: Bearer, with the token of the settings";
        let header = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"slidegate\"")));
        Self { header, ..Self::new(StatusCode::UNAUTHORIZED, detail) }
    }

    /// The store did not answer where nothing can take its place.
    pub(super) fn store(error: &impl std::error::Error) -> Self {
        let detail = format!("the store does not answer, try again: {error}");
        let header = Some((RETRY_AFTER, HeaderValue::from_static("1")));
        Self { header, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// With the member `outcome`.
    pub(super) fn outcome(self, outcome: &'static str) -> Self {
        Self { outcome: Some(outcome), ..self }
    }

    pub(super) fn into_reply(self) -> Reply {
        let mut body = Vec::with_capacity(128 + self.detail.len());
        body.push(b'{');
        members(&mut body, "about:blank", self.status.canonical_reason().unwrap_or("Error"), self.status);
        body.extend_from_slice(b",\"detail\":");
        json::text(&mut body, &self.detail);
        if let Some(outcome) = self.outcome {
            body.extend_from_slice(b",\"outcome\":");
            json::text(&mut body, outcome);
        }
        body.push(b'}');
        let mut reply = reply(self.status, PROBLEM_JSON, body);
        if let Some((name, value)) = self.header {
            reply.headers_mut().insert(name, value);
        }
        reply
    }
}

/// The members that every problem begins with.
pub(super) fn members(out: &mut Vec<u8>, kind: &str, title: &str, status: StatusCode) {
    out.extend_from_slice(b"\"type\":");
    json::text(out, kind);
    out.extend_from_slice(b",\"title\":");
    json::text(out, title);
    out.extend_from_slice(b",\"status\":");
    json::number(out, u64::from(status.as_u16()));
}

/// An answer with a body.
pub(super) fn reply(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut reply = Reply::new(Full::new(body.into()));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, content_type);
    reply
}
