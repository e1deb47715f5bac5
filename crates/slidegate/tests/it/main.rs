//! Tests of the library: decisions in memory, policies, the gate, telemetry and, with the feature
//! `redis`, the same over real servers.
//!
//! `cargo test -p slidegate --all-features --test it -- --skip redis::` needs no server.
#![cfg(not(shuttle))]

mod adaptive;
mod cases;
mod clones;
mod concurrency;
mod differential;
mod drivers;
mod eviction;
mod flood;
#[cfg(feature = "policy")]
mod gate;
#[cfg(feature = "policy")]
mod gates;
mod give_back;
#[cfg(feature = "policy")]
mod headers;
mod idempotency;
mod keys;
mod leases;
mod notes;
mod permits;
#[cfg(feature = "policy")]
mod policies;
#[cfg(feature = "policy")]
mod policy;
#[cfg(all(feature = "redis", feature = "tower"))]
mod public_api;
#[cfg(feature = "redis")]
mod redis;
mod snapshot;
#[cfg(feature = "policy")]
mod telemetry;
#[cfg(feature = "tower")]
mod tower;
#[cfg(feature = "tokio")]
mod until_ready;
mod vectors;
