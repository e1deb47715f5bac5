//! Answers of a gate.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use slidegate::headers::{Headers, Reset, Style};
use slidegate::{Answer, LimitAnswer, Permit};

use crate::verdict::seconds;

/// Answer to a request. It is true if the request is allowed.
#[pyclass(name = "Answer", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyAnswer {
    answer: Answer,
    permit: Option<Permit>,
}

impl PyAnswer {
    pub(crate) fn new(permit: Option<Permit>, answer: Answer) -> Self {
        Self { answer, permit }
    }

    fn wait_ms(&self) -> Option<u64> {
        self.answer.summary().wait.exact_ms()
    }
}

#[pymethods]
impl PyAnswer {
    #[getter]
    fn allowed(&self) -> bool {
        self.answer.is_allowed()
    }

    #[getter]
    fn remaining(&self) -> Option<u64> {
        self.answer.summary().remaining
    }

    #[getter]
    fn retry_after(&self) -> Option<f64> {
        self.wait_ms().map(seconds)
    }

    #[getter]
    fn retry_after_ms(&self) -> Option<u64> {
        self.wait_ms()
    }

    #[getter]
    fn reset_after(&self) -> Option<f64> {
        self.answer.summary().reset_after_ms.map(seconds)
    }

    #[getter]
    fn reset_after_ms(&self) -> Option<u64> {
        self.answer.summary().reset_after_ms
    }

    #[getter]
    fn decided_at_ms(&self) -> u64 {
        self.answer.verdict().decided_at_ms
    }

    #[getter]
    fn source(&self) -> &'static str {
        self.answer.verdict().source.name()
    }

    /// Every limit of the enforced rules, in the order of the policy.
    #[getter]
    fn limits(&self) -> Vec<PyLimitAnswer> {
        self.answer.limits().map(PyLimitAnswer::from).collect()
    }

    /// Every limit of the rules in observe mode.
    #[getter]
    fn observed(&self) -> Vec<PyLimitAnswer> {
        self.answer.observed().map(PyLimitAnswer::from).collect()
    }

    /// Rule that blocks the request whatever its limits say.
    #[getter]
    fn blocked_by(&self) -> Option<&str> {
        self.answer.blocked().map(|(rule, _)| rule)
    }

    /// Permit to settle or refund the charge, where a rule issues one.
    #[getter]
    fn permit(&self) -> Option<String> {
        self.permit.as_ref().map(Permit::to_string)
    }

    /// Whether the request was charged before, under the same idempotency key.
    #[getter]
    fn replayed(&self) -> bool {
        self.answer.replayed()
    }

    /// HTTP headers about the limits, and `retry-after` on a denial.
    #[pyo3(signature = (style="draft"))]
    fn headers<'py>(&self, py: Python<'py>, style: &str) -> PyResult<Bound<'py, PyDict>> {
        let headers = Headers { style: parse_style(style)?, retry_jitter: 0 };
        let (fields, mut result) = (PyDict::new(py), Ok(()));
        let no_random = || 0;
        headers.write(&self.answer, no_random, |name, value| {
            if result.is_ok() {
                result = fields.set_item(name, value);
            }
        });
        result.map(|()| fields)
    }

    fn __bool__(&self) -> bool {
        self.answer.is_allowed()
    }

    fn __repr__(&self) -> String {
        match self.answer.blocked() {
            Some((rule, _)) => format!("<Answer blocked by {rule}>"),
            None => format!("<Answer {}>", self.answer.verdict()),
        }
    }
}

/// Decision of one limit in an answer.
#[pyclass(name = "LimitAnswer", module = "slidegate", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyLimitAnswer {
    rule: Option<String>,
    limit: String,
    policy: String,
    quota: u64,
    window_ms: u64,
    outcome: &'static str,
    remaining: Option<u64>,
    retry_after_ms: Option<u64>,
    reset_after_ms: Option<u64>,
}

impl From<LimitAnswer<'_>> for PyLimitAnswer {
    fn from(answer: LimitAnswer<'_>) -> Self {
        let has_numbers = answer.has_numbers();
        Self {
            rule: answer.rule.map(str::to_owned),
            limit: answer.text.to_owned(),
            policy: answer.name.to_owned(),
            quota: answer.limit.quota(),
            window_ms: answer.limit.window_ms(),
            outcome: answer.decision.outcome.name(),
            remaining: has_numbers.then_some(answer.decision.remaining),
            retry_after_ms: answer.wait().exact_ms(),
            reset_after_ms: has_numbers.then_some(answer.decision.reset_after_ms),
        }
    }
}

#[pymethods]
impl PyLimitAnswer {
    fn __repr__(&self) -> String {
        format!("<LimitAnswer {}: {}>", self.policy, self.outcome)
    }
}

/// Style of headers by its name in the policy file.
fn parse_style(name: &str) -> PyResult<Style> {
    match name {
        "draft" => Ok(Style::Draft),
        "legacy" => Ok(Style::Legacy),
        "x-ratelimit" => Ok(Style::XRateLimit(Reset::Delta)),
        "x-ratelimit-epoch" => Ok(Style::XRateLimit(Reset::Epoch)),
        "none" => Ok(Style::None),
        _ => Err(PyValueError::new_err(format!(
            "unknown style {name:?}; expected draft, legacy, x-ratelimit, x-ratelimit-epoch or none"
        ))),
    }
}
