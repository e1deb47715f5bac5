//! Telemetry: metrics, traces, the denial log and the audit log.

pub(crate) mod audit;
pub(crate) mod auth_failures;
pub(crate) mod denial_log;
pub(crate) mod log_throttle;
pub(crate) mod log_writer;
pub(crate) mod metrics;
pub(crate) mod otlp;
pub(crate) mod path_refusals;
