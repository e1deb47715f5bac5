//! Configuration: a policy file, checked, in the form that the server needs.

pub(crate) mod connection_limits;
pub(crate) mod error;
pub(crate) mod exposure;
pub(crate) mod listener;
pub(crate) mod live_settings;
#[cfg(feature = "otlp")]
pub(crate) mod otlp_error;
pub(crate) mod pem;
pub(crate) mod snapshot_error;
pub(crate) mod tls_error;
pub(crate) mod value;

use slidegate::policy::{Policy, Settings};

/// A policy and the settings beside it, as [`Policy::parse`] gives them.
#[derive(Debug)]
pub struct Config {
    /// The rules.
    pub policy: Policy,
    /// Listeners, the store and telemetry.
    pub settings: Settings,
}

impl From<(Policy, Settings)> for Config {
    fn from((policy, settings): (Policy, Settings)) -> Self {
        Self { policy, settings }
    }
}
