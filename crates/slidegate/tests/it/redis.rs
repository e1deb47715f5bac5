//! The store in Redis and Valkey, on servers that the tests start.

mod acl;
#[cfg(feature = "policy")]
mod batch;
#[cfg(feature = "policy")]
mod batch_oracle;
#[cfg(feature = "policy")]
mod batches;
mod cluster;
mod cluster_faults;
mod connect;
mod cross_slot;
mod deny_cache;
mod deny_cache_oracle;
mod differential;
mod expiry;
mod fallback;
mod foreign_keys;
mod give_back;
mod hot_key;
mod idempotency;
#[cfg(feature = "policy")]
mod inspect;
mod leases;
mod lost_replies;
mod notes;
mod outage;
#[cfg(feature = "policy")]
mod permits;
#[cfg(feature = "policy")]
mod recount;
mod request_sizes;
mod script_flush;
mod servers;
mod stores;
#[cfg(feature = "policy")]
mod telemetry;
#[cfg(feature = "tower")]
mod tower;
mod vectors;
