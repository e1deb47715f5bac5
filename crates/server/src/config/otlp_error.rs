//! What can be wrong with where telemetry goes.

use super::tls_error::TlsError;

/// Why telemetry cannot be sent as the settings have it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// It is not said where a collector is, as an address of HTTP.
    #[error("endpoint: {endpoint:?} is no address of a collector; write http://127.0.0.1:4318")]
    Endpoint {
        /// What is written, without a login.
        endpoint: String,
    },
    /// A variable of the environment cannot be read.
    #[error("{name}: {why}")]
    Variable {
        /// Which one.
        name: &'static str,
        /// What it should be.
        why: &'static str,
    },
    /// The file of `OTEL_EXPORTER_OTLP_CERTIFICATE` cannot be used.
    #[error("OTEL_EXPORTER_OTLP_CERTIFICATE: {0}")]
    Certificate(#[from] TlsError),
}
