//! Failures of commands that the store decides.

use slidegate::{GateError, RequestError};

use crate::runtime::backend::StoreError;

/// Failure of a command.
pub(super) enum CommandFailure {
    /// The command has to be changed.
    Request(RequestError),
    /// The request is invalid.
    CommandError(String),
    /// The store did not answer, and nothing can take its place.
    Store(StoreError),
}

impl CommandFailure {
    #[cold]
    pub(super) fn text(&self) -> String {
        match self {
            Self::Request(error) => format!("ERR {error}"),
            Self::CommandError(text) => format!("ERR {text}"),
            Self::Store(error) => format!("UNAVAILABLE the store is unavailable, retry: {error}"),
        }
    }
}

impl From<GateError<StoreError>> for CommandFailure {
    fn from(error: GateError<StoreError>) -> Self {
        match error {
            GateError::Request(error) => Self::Request(error),
            GateError::Conflict | GateError::Full | GateError::TooManyPermits => {
                Self::CommandError(error.to_string())
            }
            GateError::Store(error) => Self::Store(error),
        }
    }
}
