//! Errors in the settings of telemetry export.

use super::tls_error::TlsError;

/// Error in the settings of telemetry export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OtlpError {
    /// It is not said where a collector is, as an address of HTTP.
    #[error("endpoint: invalid collector URL {endpoint:?}, expected one such as http://127.0.0.1:4318")]
    Endpoint {
        /// Value in the file, without credentials.
        endpoint: String,
    },
    /// A variable of the environment cannot be read.
    #[error("{name}: {why}")]
    Variable {
        /// Its name.
        name: &'static str,
        /// Expected value.
        why: &'static str,
    },
    /// The file of `OTEL_EXPORTER_OTLP_CERTIFICATE` cannot be used.
    #[error("OTEL_EXPORTER_OTLP_CERTIFICATE: {0}")]
    Certificate(#[from] TlsError),
}
