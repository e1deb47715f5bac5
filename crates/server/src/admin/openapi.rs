//! OpenAPI document of the admin API, written by hand in `openapi.json`. Tests check every response
//! against it.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::StatusCode;

use super::reply::JSON;
use crate::protocols::problem::{Reply, reply};
use crate::protocols::rest::openapi::complete;

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| complete(include_str!("openapi.json")));

pub(super) fn document() -> Reply {
    reply(StatusCode::OK, JSON, DOCUMENT.clone())
}
