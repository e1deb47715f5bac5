//! Why a call of Envoy's is not answered.

use slidegate::{GateError, RequestError, Store};

use crate::runtime::backend::Backend;

/// Why there is no answer, in no protocol's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// The message has to be changed.
    Invalid(String),
    /// The store does not answer, and nothing may take its place.
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
            GateError::Conflict | GateError::TooManyPermits => Self::Invalid(error.to_string()),
            GateError::Full => Self::Unavailable(error.to_string()),
            GateError::Store(error) => {
                Self::Unavailable(format!("the store does not answer, try again: {error}"))
            }
        }
    }
}
