//! Verdicts and reservations.

use pyo3::prelude::*;
use slidegate::{Decision, Outcome, Permit, Reservation, SettleOutcome, Verdict};

/// Verdict on a request. It is true if the request is allowed.
#[pyclass(name = "Verdict", module = "slidegate", frozen, freelist = 64)]
#[derive(Debug)]
pub(crate) struct PyVerdict(pub(crate) Verdict);

#[pymethods]
impl PyVerdict {
    #[getter]
    fn allowed(&self) -> bool {
        self.0.is_allowed()
    }

    #[getter]
    fn remaining(&self) -> Option<u64> {
        self.0.remaining()
    }

    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.0.retry_after_ms().map(seconds)
    }

    #[getter]
    fn retry_after_ms(&self) -> Option<u64> {
        self.0.retry_after_ms()
    }

    #[getter]
    fn reset_after(&self) -> Option<f64> {
        self.0.reset_after_ms().map(seconds)
    }

    #[getter]
    fn reset_after_ms(&self) -> Option<u64> {
        self.0.reset_after_ms()
    }

    #[getter]
    fn decided_at_ms(&self) -> u64 {
        self.0.decided_at_ms
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.0.source.name()
    }

    #[getter]
    fn decisions(&self) -> Vec<PyDecision> {
        self.0.decisions.iter().map(PyDecision::from).collect()
    }

    fn __bool__(&self) -> bool {
        self.0.is_allowed()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Verdict {}>", self.0)
    }
}

/// Decision of one limit.
#[pyclass(name = "Decision", module = "slidegate", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyDecision {
    outcome: &'static str,
    remaining: u64,
    retry_after_ms: Option<u64>,
    reset_after_ms: u64,
}

impl From<&Decision> for PyDecision {
    fn from(decision: &Decision) -> Self {
        let Decision { outcome, remaining, reset_after_ms, .. } = *decision;
        let retry_after_ms = match outcome {
            Outcome::RetryAfter(ms) => Some(ms),
            Outcome::Fits | Outcome::Never => None,
        };
        Self { outcome: outcome.name(), remaining, retry_after_ms, reset_after_ms }
    }
}

#[pymethods]
impl PyDecision {
    fn __repr__(&self) -> String {
        format!("<Decision {}, {} remaining>", self.outcome, self.remaining)
    }
}

/// Verdict on a reservation, with its permit. It is true if the request is allowed.
#[pyclass(name = "Reservation", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyReservation(pub(crate) Reservation);

#[pymethods]
impl PyReservation {
    #[getter]
    fn verdict(&self) -> PyVerdict {
        PyVerdict(self.0.verdict.clone())
    }

    #[getter]
    fn permit(&self) -> Option<String> {
        self.0.permit.as_ref().map(Permit::to_string)
    }

    fn __bool__(&self) -> bool {
        self.0.verdict.is_allowed()
    }

    fn __repr__(&self) -> String {
        format!("<Reservation {}>", self.0.verdict)
    }
}

/// Name of an outcome, as in the HTTP API.
pub(crate) fn settle_outcome_name(outcome: SettleOutcome) -> &'static str {
    match outcome {
        SettleOutcome::Settled => "settled",
        SettleOutcome::PartlySettled => "partly_settled",
        SettleOutcome::Expired => "expired",
        SettleOutcome::AlreadySpent => "already_spent",
        SettleOutcome::Void => "void",
    }
}

/// Seconds, for `time.sleep` and its kind.
pub(crate) fn seconds(ms: u64) -> f64 {
    ms as f64 / 1_000.0
}
