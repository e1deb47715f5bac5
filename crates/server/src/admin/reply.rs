//! Responses of the admin API.

use hyper::StatusCode;
use hyper::header::HeaderValue;

use crate::protocols::problem::{Reply, reply};

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Response with a JSON body.
pub(super) fn json(status: StatusCode, body: &serde_json::Value) -> Reply {
    reply(status, JSON, body.to_string())
}
