//! Admin API: health, metrics, keys, overrides, the policy and the console. A file per address.

pub(crate) mod auth;
pub(crate) mod console;
pub(crate) mod events;
pub(crate) mod keys;
pub(crate) mod metrics;
pub(crate) mod openapi;
pub(crate) mod overrides;
pub(crate) mod policy;
pub(crate) mod reload;
pub(crate) mod reply;
pub(crate) mod routes;
pub(crate) mod status;
