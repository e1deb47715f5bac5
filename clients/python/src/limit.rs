//! Limits: text, or objects where more than quota and window is to be said.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use slidegate::{Limit, Resolution};

use crate::errors::configuration_error;

/// Limit: a quota per window, by default a sliding-window log.
#[pyclass(name = "Limit", module = "slidegate", frozen, eq, hash)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct PyLimit(pub(crate) Limit);

#[pymethods]
impl PyLimit {
    /// Limit from its text, as in `5/min`.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        checked(text.parse())
    }

    /// Log of `quota` per `window_s` seconds.
    #[staticmethod]
    fn per(quota: u64, window_s: f64) -> PyResult<Self> {
        checked(Limit::new(quota, duration(window_s)?))
    }

    /// Log of `quota` per second.
    #[staticmethod]
    fn per_second(quota: u64) -> PyResult<Self> {
        checked(Limit::new(quota, Duration::from_secs(1)))
    }

    /// Log of `quota` per minute.
    #[staticmethod]
    fn per_minute(quota: u64) -> PyResult<Self> {
        checked(Limit::new(quota, Duration::from_secs(60)))
    }

    /// Log of `quota` per hour.
    #[staticmethod]
    fn per_hour(quota: u64) -> PyResult<Self> {
        checked(Limit::new(quota, Duration::from_secs(3_600)))
    }

    /// Log of `quota` per day.
    #[staticmethod]
    fn per_day(quota: u64) -> PyResult<Self> {
        checked(Limit::new(quota, Duration::from_secs(86_400)))
    }

    /// At most `quota` at a time, each for at most `hold_s` seconds.
    #[staticmethod]
    fn in_flight(quota: u64, hold_s: f64) -> PyResult<Self> {
        checked(Limit::in_flight(quota, duration(hold_s)?))
    }

    /// The same quota and window, counted by two weighted windows.
    fn counter(&self) -> PyResult<Self> {
        checked(self.0.counter())
    }

    /// The same quota and window, counted in one aligned window.
    fn fixed(&self) -> PyResult<Self> {
        checked(self.0.fixed())
    }

    /// The same rate as a meter that admits `burst` units at once.
    fn gcra(&self, burst: u64) -> PyResult<Self> {
        checked(self.0.gcra(burst))
    }

    /// The same quota and window as a log with slots of this many milliseconds.
    fn resolution_ms(&self, ms: u64) -> PyResult<Self> {
        checked(self.0.resolution(Resolution::Ms(ms)))
    }

    /// The same limit with a history of its own.
    fn named(&self, name: &str) -> Self {
        Self(self.0.named(name))
    }

    #[getter]
    fn quota(&self) -> u64 {
        self.0.quota()
    }

    #[getter]
    fn window_ms(&self) -> u64 {
        self.0.window_ms()
    }

    #[getter]
    fn algorithm(&self) -> &'static str {
        self.0.kind().name()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Limit {}>", self.0)
    }
}

fn checked(limit: Result<Limit, slidegate::LimitError>) -> PyResult<PyLimit> {
    limit.map(PyLimit).map_err(configuration_error)
}

/// Duration of a number of seconds, to the nearest microsecond: 0.1 is 100 ms.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| {
        PyValueError::new_err(format!("expected a positive number of seconds, not {seconds}"))
    })?;
    Ok(Duration::from_micros((duration.as_nanos() + 500) as u64 / 1_000))
}

/// Limits from positional arguments: text or [`PyLimit`].
pub(crate) fn limits(arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<Limit>> {
    let limit = |argument: Bound<'_, PyAny>| match argument.cast::<PyString>() {
        Ok(text) => text.to_cow()?.parse().map_err(configuration_error),
        Err(_) => Ok(argument.cast::<PyLimit>()?.get().0),
    };
    arguments.iter().map(limit).collect()
}
