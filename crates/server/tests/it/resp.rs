//! The protocol of Redis as its clients see it: bytes over a socket, on both stores.

pub(crate) mod client;
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
