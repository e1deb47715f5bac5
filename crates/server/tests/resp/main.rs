//! The protocol of Redis as its clients see it: bytes over a socket, on both stores.

#[path = "../../../limiter/tests/servers/mod.rs"]
mod servers;

#[path = "../../../core/tests/properties/cases.rs"]
#[allow(dead_code, reason = "every test uses a part of it")]
mod cases;

mod client;
mod service;

mod ad_hoc;
mod auth;
mod commands;
mod connections;
mod golden;
mod hostile;
mod outage;
mod permits;
mod pipelines;
mod rules;
mod stopping;
