//! Runtime: what decides, and what keeps it up to date.

pub(crate) mod app;
pub(crate) mod backend;
pub(crate) mod file_watch;
pub(crate) mod metrics;
pub(crate) mod overrides;
pub(crate) mod reload;
pub(crate) mod snapshot;
