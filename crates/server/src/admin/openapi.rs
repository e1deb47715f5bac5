//! What operators can ask, as an OpenAPI document. It is kept by hand in `openapi.json`, and tests hold every answer against it.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::json;

use super::{JSON, json};
use crate::http::openapi::complete;
use crate::http::problem::{Reply, reply};

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| complete(include_str!("openapi.json")));

pub(super) fn document() -> Reply {
    reply(StatusCode::OK, JSON, DOCUMENT.clone())
}

pub(super) fn index() -> Reply {
    let body = json!({
        "service": "slidegate",
        "version": env!("CARGO_PKG_VERSION"),
        "openapi": "/openapi.json",
    });
    json(StatusCode::OK, &body)
}
