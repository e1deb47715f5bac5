//! Limiter in memory.

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use slidegate::{Limiter, Memory, Permit};

use crate::clock::{LimiterClock, PyManualClock};
use crate::errors::{configuration_error, permit_error, wait_error};
use crate::key::{key, owned_key};
use crate::limit::{PyLimit, limits};
use crate::runtime::awaitable;
use crate::verdict::{PyReservation, PyVerdict, settle_outcome_name};

/// Rate limiter in the memory of this process, with one or more limits per key.
#[pyclass(name = "Limiter", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyLimiter(Limiter<Memory, LimiterClock>);

#[pymethods]
impl PyLimiter {
    #[new]
    #[pyo3(signature = (*limits, max_memory=None, max_waiting=None, permit_secret=None, clock=None))]
    fn new(
        limits: &Bound<'_, PyTuple>,
        max_memory: Option<usize>,
        max_waiting: Option<usize>,
        permit_secret: Option<[u8; 32]>,
        clock: Option<&Bound<'_, PyManualClock>>,
    ) -> PyResult<Self> {
        let mut builder = Limiter::builder(self::limits(limits)?);
        if let Some(bytes) = max_memory {
            builder = builder.max_memory(bytes);
        }
        if let Some(waiters) = max_waiting {
            builder = builder.max_waiting(waiters);
        }
        if let Some(secret) = permit_secret {
            builder = builder.permit_secret(secret);
        }
        let clock = LimiterClock::new(clock.map(Bound::get));
        builder.clock(clock).build().map(Self).map_err(configuration_error)
    }

    /// Limits, in the order of a verdict's decisions.
    #[getter]
    fn limits(&self) -> Vec<PyLimit> {
        self.0.limits().iter().copied().map(PyLimit).collect()
    }

    /// Requests one unit.
    #[pyo3(signature = (key, /))]
    fn check(&self, key: &Bound<'_, PyAny>) -> PyResult<PyVerdict> {
        Ok(PyVerdict(self.0.check(self::key(key)?)))
    }

    /// Requests `cost` units: all of them, or none.
    #[pyo3(signature = (key, cost, /))]
    fn check_n(&self, key: &Bound<'_, PyAny>, cost: u64) -> PyResult<PyVerdict> {
        Ok(PyVerdict(self.0.check_n(self::key(key)?, cost)))
    }

    /// Reads the numbers of a key without charging it.
    #[pyo3(signature = (key, /))]
    fn peek(&self, key: &Bound<'_, PyAny>) -> PyResult<PyVerdict> {
        Ok(PyVerdict(self.0.peek(self::key(key)?)))
    }

    /// Requests `cost` units with a permit, to settle or refund them later.
    #[pyo3(signature = (key, cost=1, /))]
    fn reserve(&self, key: &Bound<'_, PyAny>, cost: u64) -> PyResult<PyReservation> {
        self.0.reserve(self::key(key)?, cost).map(PyReservation).map_err(permit_error)
    }

    /// Replaces a reserved cost by the actual one, even beyond the quota.
    #[pyo3(signature = (permit, cost, /))]
    fn settle(&self, permit: &str, cost: u64) -> PyResult<&'static str> {
        let permit: Permit = permit.parse().map_err(permit_error)?;
        self.0.settle(&permit, cost).map(settle_outcome_name).map_err(permit_error)
    }

    /// Gives back a reserved cost, or releases a slot in flight.
    #[pyo3(signature = (permit, /))]
    fn refund(&self, permit: &str) -> PyResult<&'static str> {
        self.settle(permit, 0)
    }

    /// Deletes the state of a key: it has its whole quota again, and its permits are void.
    #[pyo3(signature = (key, /))]
    fn reset(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.reset(self::key(key)?);
        Ok(())
    }

    /// Future of asyncio that waits until `cost` units are admitted, in order of arrival.
    #[pyo3(signature = (key, cost=1, /))]
    fn until_ready<'py>(&self, key: &Bound<'py, PyAny>, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        let (limiter, subject) = (self.0.clone(), owned_key(key)?);
        awaitable(key.py(), async move {
            limiter.until_ready_n(subject, cost).await.map(PyVerdict).map_err(wait_error)
        })
    }
}
