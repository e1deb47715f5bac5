//! The service as its clients see it: bytes over a socket, on both stores. Every answer is held
//! against the OpenAPI document.

mod client;
mod document;
mod service;

mod ad_hoc;
mod admin;
mod authorize;
mod bad_requests;
mod caps;
mod connections;
mod denial_log;
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
