//! Limiter over Redis or Valkey, for threads and for asyncio.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use slidegate::store::redis::RedisConfig;
use slidegate::{Fallback, Limiter, Permit, Redis, RedisLimiter};

use crate::errors::{call_error, configuration_error, permit_error, store_error, wait_error};
use crate::key::owned_key;
use crate::limit::{PyLimit, duration, limits};
use crate::runtime::{ProcessId, awaitable, block_on};
use crate::verdict::{PyReservation, PyVerdict, settle_outcome_name};

/// Rate limiter over Redis or Valkey: any number of processes with the same limits decide as one.
///
/// Methods that end in `_async` return futures of the running asyncio loop. The others block the
/// calling thread, without the GIL.
#[pyclass(name = "RedisLimiter", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyRedisLimiter {
    limiter: RedisLimiter,
    process: ProcessId,
}

#[pymethods]
impl PyRedisLimiter {
    #[new]
    #[pyo3(signature = (
        url, /, *limits, name="", nodes=1, timeout=None, prefix=None, refundable=false,
        max_waiting=None, permit_secret=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn new(
        url: &Bound<'_, PyAny>,
        limits: &Bound<'_, PyTuple>,
        name: &str,
        nodes: u32,
        timeout: Option<f64>,
        prefix: Option<&str>,
        refundable: bool,
        max_waiting: Option<usize>,
        permit_secret: Option<[u8; 32]>,
    ) -> PyResult<Self> {
        let store = redis_store(url, nodes, timeout, prefix)?;
        let mut builder = Limiter::builder(self::limits(limits)?).name(name).store(store);
        if refundable {
            builder = builder.refundable();
        }
        if let Some(waiters) = max_waiting {
            builder = builder.max_waiting(waiters);
        }
        if let Some(secret) = permit_secret {
            builder = builder.permit_secret(secret);
        }
        let limiter = builder.build_async().map_err(configuration_error)?;
        Ok(Self { limiter, process: ProcessId::current() })
    }

    /// Limits, in the order of a verdict's decisions.
    #[getter]
    fn limits(&self) -> Vec<PyLimit> {
        self.limiter.limits().iter().copied().map(PyLimit).collect()
    }

    /// Requests one unit.
    #[pyo3(signature = (key, /))]
    fn check(&self, key: &Bound<'_, PyAny>) -> PyResult<PyVerdict> {
        block_on(key.py(), self.decide(key, 1)?)
    }

    /// `check` for asyncio.
    #[pyo3(signature = (key, /))]
    fn check_async<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        awaitable(key.py(), self.decide(key, 1)?)
    }

    /// Requests `cost` units: all of them, or none.
    #[pyo3(signature = (key, cost, /))]
    fn check_n(&self, key: &Bound<'_, PyAny>, cost: u64) -> PyResult<PyVerdict> {
        block_on(key.py(), self.decide(key, cost)?)
    }

    /// `check_n` for asyncio.
    #[pyo3(signature = (key, cost, /))]
    fn check_n_async<'py>(&self, key: &Bound<'py, PyAny>, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        awaitable(key.py(), self.decide(key, cost)?)
    }

    /// Reads the numbers of a key without charging it.
    #[pyo3(signature = (key, /))]
    fn peek(&self, key: &Bound<'_, PyAny>) -> PyResult<PyVerdict> {
        block_on(key.py(), self.decide(key, 0)?)
    }

    /// `peek` for asyncio.
    #[pyo3(signature = (key, /))]
    fn peek_async<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        awaitable(key.py(), self.decide(key, 0)?)
    }

    /// Requests `cost` units with a permit, to settle or refund them later.
    #[pyo3(signature = (key, cost=1, /))]
    fn reserve(&self, key: &Bound<'_, PyAny>, cost: u64) -> PyResult<PyReservation> {
        block_on(key.py(), self.reservation(key, cost)?)
    }

    /// `reserve` for asyncio.
    #[pyo3(signature = (key, cost=1, /))]
    fn reserve_async<'py>(&self, key: &Bound<'py, PyAny>, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        awaitable(key.py(), self.reservation(key, cost)?)
    }

    /// Replaces a reserved cost by the actual one, even beyond the quota.
    #[pyo3(signature = (permit, cost, /))]
    fn settle(&self, py: Python<'_>, permit: &str, cost: u64) -> PyResult<&'static str> {
        block_on(py, self.settlement(permit, cost)?)
    }

    /// `settle` for asyncio.
    #[pyo3(signature = (permit, cost, /))]
    fn settle_async<'py>(&self, py: Python<'py>, permit: &str, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, self.settlement(permit, cost)?)
    }

    /// Gives back a reserved cost, or releases a slot in flight.
    #[pyo3(signature = (permit, /))]
    fn refund(&self, py: Python<'_>, permit: &str) -> PyResult<&'static str> {
        block_on(py, self.settlement(permit, 0)?)
    }

    /// `refund` for asyncio.
    #[pyo3(signature = (permit, /))]
    fn refund_async<'py>(&self, py: Python<'py>, permit: &str) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, self.settlement(permit, 0)?)
    }

    /// Deletes the state of a key: it has its whole quota again, and its permits are void.
    #[pyo3(signature = (key, /))]
    fn reset(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        block_on(key.py(), self.forget(key)?)
    }

    /// `reset` for asyncio.
    #[pyo3(signature = (key, /))]
    fn reset_async<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        awaitable(key.py(), self.forget(key)?)
    }

    /// Future of asyncio that waits until `cost` units are admitted, in order of arrival.
    #[pyo3(signature = (key, cost=1, /))]
    fn until_ready<'py>(&self, key: &Bound<'py, PyAny>, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        let (limiter, subject) = (self.limiter()?, owned_key(key)?);
        awaitable(key.py(), async move {
            limiter.until_ready_n(subject, cost).await.map(PyVerdict).map_err(wait_error)
        })
    }
}

impl PyRedisLimiter {
    fn limiter(&self) -> PyResult<RedisLimiter> {
        self.process.check()?;
        Ok(self.limiter.clone())
    }

    fn decide(
        &self,
        key: &Bound<'_, PyAny>,
        cost: u64,
    ) -> PyResult<impl Future<Output = PyResult<PyVerdict>> + Send + use<>> {
        let (limiter, subject) = (self.limiter()?, owned_key(key)?);
        Ok(async move { limiter.check_n(subject, cost).await.map(PyVerdict).map_err(store_error) })
    }

    fn reservation(
        &self,
        key: &Bound<'_, PyAny>,
        cost: u64,
    ) -> PyResult<impl Future<Output = PyResult<PyReservation>> + Send + use<>> {
        let (limiter, subject) = (self.limiter()?, owned_key(key)?);
        Ok(async move { limiter.reserve(subject, cost).await.map(PyReservation).map_err(call_error) })
    }

    fn settlement(
        &self,
        permit: &str,
        cost: u64,
    ) -> PyResult<impl Future<Output = PyResult<&'static str>> + Send + use<>> {
        let (limiter, permit) = (self.limiter()?, permit.parse::<Permit>().map_err(permit_error)?);
        Ok(async move { limiter.settle(&permit, cost).await.map(settle_outcome_name).map_err(call_error) })
    }

    fn forget(&self, key: &Bound<'_, PyAny>) -> PyResult<impl Future<Output = PyResult<()>> + Send + use<>> {
        let (limiter, subject) = (self.limiter()?, owned_key(key)?);
        Ok(async move { limiter.reset(subject).await.map_err(store_error) })
    }
}

/// Store in Redis or Valkey with a fallback: one server by its URL, or a Cluster by a list of URLs.
pub(crate) fn redis_store(
    url: &Bound<'_, PyAny>,
    nodes: u32,
    timeout: Option<f64>,
    prefix: Option<&str>,
) -> PyResult<Fallback<Redis>> {
    let config = match url.cast::<PyString>() {
        Ok(url) => RedisConfig::parse(&url.to_cow()?),
        Err(_) => RedisConfig::cluster(url.extract::<Vec<String>>()?.iter().map(String::as_str)),
    };
    let mut config = config.map_err(configuration_error)?;
    if let Some(timeout) = timeout {
        config = config.timeout(duration(timeout)?);
    }
    if let Some(prefix) = prefix {
        config = config.prefix(prefix).map_err(configuration_error)?;
    }
    Ok(Fallback::new(Redis::new(&config), nodes))
}
