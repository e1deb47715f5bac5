//! The service as its clients see it: bytes over a socket, on both stores. Every answer is held against the OpenAPI document.

#[path = "../../../limiter/tests/servers/mod.rs"]
mod servers;

#[path = "../tls/authority.rs"]
#[allow(dead_code, reason = "a part of it is used")]
mod authority;
mod client;
mod document;
#[path = "../tls/files.rs"]
mod files;
mod lines;
mod service;

mod ad_hoc;
mod admin;
mod authorize;
mod bad_requests;
mod caps;
mod connections;
mod denials;
mod headers;
mod idempotency;
mod in_flight;
mod numbers;
mod observe;
mod outage;
mod overrides;
mod paths;
mod permits;
mod reload;
mod rlaas;
mod rls_json;
mod rules;
mod stopping;
mod subjects;
mod token;
mod waiting;
