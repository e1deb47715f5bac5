//! Exceptions, with the messages of the library.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use slidegate::{CallError, GateError, WaitError};

create_exception!(slidegate, SlidegateError, PyException, "Base of all exceptions of this package.");
create_exception!(slidegate, ConfigurationError, SlidegateError, "Invalid limit, setting, URL or policy.");
create_exception!(slidegate, PermitError, SlidegateError, "Permit that is not accepted or not issued.");
create_exception!(slidegate, QueueFullError, SlidegateError, "Wait queue without space for another waiter.");
create_exception!(slidegate, RequestError, SlidegateError, "Request that a gate cannot decide.");
create_exception!(slidegate, StoreError, SlidegateError, "Store that did not answer.");
create_exception!(
    slidegate,
    NeverFitsError,
    SlidegateError,
    "Cost that exceeds a limit, however long the wait."
);

pub(crate) fn configuration_error(error: impl Display) -> PyErr {
    ConfigurationError::new_err(error.to_string())
}

pub(crate) fn permit_error(error: slidegate::PermitError) -> PyErr {
    PermitError::new_err(error.to_string())
}

pub(crate) fn store_error(error: impl Display) -> PyErr {
    StoreError::new_err(format!("the store failed: {error}"))
}

pub(crate) fn call_error<E: Display>(error: CallError<E>) -> PyErr {
    match error {
        CallError::Permit(error) => permit_error(error),
        CallError::Store(error) => store_error(error),
    }
}

pub(crate) fn wait_error<E: Display>(error: WaitError<E>) -> PyErr {
    match error {
        WaitError::Store(error) => store_error(error),
        WaitError::QueueFull => QueueFullError::new_err(error.to_string()),
        error => NeverFitsError::new_err(error.to_string()),
    }
}

pub(crate) fn request_error(error: impl Display) -> PyErr {
    RequestError::new_err(error.to_string())
}

pub(crate) fn gate_error<E: Display>(error: GateError<E>) -> PyErr {
    match error {
        GateError::Store(error) => store_error(error),
        GateError::Full => StoreError::new_err(error.to_string()),
        GateError::TooManyPermits { .. } => PermitError::new_err(error.to_string()),
        GateError::Request(_) | GateError::Conflict => request_error(error),
    }
}
