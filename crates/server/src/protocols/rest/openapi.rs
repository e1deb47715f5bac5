//! OpenAPI document of the check API, written by hand in `openapi.json`; tests check every response
//! against it.

use std::sync::LazyLock;

use bytes::Bytes;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::protocols::problem::{JSON, Reply, reply};

const ANY_METHOD: [&str; 7] = ["head", "post", "put", "patch", "delete", "options", "trace"];

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| complete(include_str!("openapi.json")));

/// Complete document: with the version, and the methods that work as GET.
pub(crate) fn complete(written: &str) -> Bytes {
    let mut document: Value = serde_json::from_str(written).expect("openapi.json is JSON: it is tested");
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    if let Some(paths) = document["paths"].as_object_mut() {
        for (path, item) in paths {
            let as_get: &[&str] = if path == "/v1/authorize" { &ANY_METHOD } else { &["head"] };
            repeat(item, as_get);
        }
    }
    Bytes::from(document.to_string())
}

/// Copies the operation of GET for other methods.
fn repeat(item: &mut Value, methods: &[&str]) {
    let Some(get) = item.get("get").cloned() else { return };
    for method in methods {
        let mut operation = get.clone();
        let id = operation["operationId"].as_str().unwrap_or_default();
        operation["operationId"] = json!(format!("{id}_{method}"));
        if *method == "head" {
            strip_bodies(&mut operation);
        }
        item[*method] = operation;
    }
}

/// A response to HEAD has headers only.
fn strip_bodies(operation: &mut Value) {
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    for response in responses.values_mut() {
        *response = json!({ "description": "As to GET, without a body." });
    }
}

pub(crate) fn document() -> Reply {
    reply(StatusCode::OK, JSON, DOCUMENT.clone())
}

pub(crate) fn index() -> Reply {
    let body = json!({
        "service": "slidegate",
        "version": env!("CARGO_PKG_VERSION"),
        "openapi": "/openapi.json",
    });
    reply(StatusCode::OK, JSON, body.to_string())
}
