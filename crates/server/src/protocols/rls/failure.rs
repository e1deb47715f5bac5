//! Failures of calls of Envoy's service.

use slidegate::{GateError, RequestError, Store};

use crate::runtime::backend::Backend;

/// Failure of a call, independent of the protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The message is invalid.
    Invalid(String),
    /// The store does not answer, and the rule has no fallback.
    Unavailable(String),
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl From<GateError<<Backend as Store>::Error>> for Failure {
    fn from(error: GateError<<Backend as Store>::Error>) -> Self {
        match error {
            GateError::Request(error) => error.into(),
            GateError::Conflict | GateError::TooManyPermits { .. } => Self::Invalid(error.to_string()),
            GateError::Full => Self::Unavailable(error.to_string()),
            GateError::Store(error) => Self::Unavailable(format!("the store is unavailable, retry: {error}")),
        }
    }
}
