//! Gate: a policy over the memory of this process, or over Redis or Valkey.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyType};
use slidegate::{
    Answer, CheckRequest, Fallback, Gate, GateError, Memory, Permit, Policy, Redis, Request, Store,
};

use crate::answer::PyAnswer;
use crate::clock::{LimiterClock, PyManualClock};
use crate::errors::{call_error, configuration_error, gate_error, permit_error, request_error};
use crate::limit::duration;
use crate::redis_limiter::redis_store;
use crate::runtime::{ProcessId, awaitable, block_on};
use crate::verdict::settle_outcome_name;

/// Rules of a policy file, decided together.
///
/// Methods that end in `_async` return futures of the running asyncio loop. The others block the
/// calling thread, without the GIL where the state is in Redis.
#[pyclass(name = "Gate", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyGate(StoreGate);

/// Gate over one of the stores. Clones share it.
#[derive(Clone, Debug)]
enum StoreGate {
    Memory(Arc<Gate<Memory, LimiterClock>>),
    Redis(Arc<Gate<Fallback<Redis>, LimiterClock>>, ProcessId),
}

#[pymethods]
impl PyGate {
    /// Gate with the rules of a file. The settings are those of `from_text`.
    #[classmethod]
    #[pyo3(signature = (path, **settings))]
    fn from_file<'py>(
        class: &Bound<'py, PyType>,
        path: &Bound<'py, PyAny>,
        settings: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path: PathBuf = path.extract()?;
        let settings = settings.cloned().unwrap_or_else(|| PyDict::new(class.py()));
        settings.set_item("file_name", path.to_string_lossy())?;
        class.call_method("from_text", (fs::read_to_string(&path)?,), Some(&settings))
    }

    /// Gate with the rules of a text. Errors name the file.
    #[staticmethod]
    #[pyo3(signature = (
        text, *, file_name="policy", redis=None, nodes=1, timeout=None, prefix=None, max_memory=None,
        permit_secret=None, clock=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn from_text(
        text: &str,
        file_name: &str,
        redis: Option<&Bound<'_, PyAny>>,
        nodes: u32,
        timeout: Option<f64>,
        prefix: Option<&str>,
        max_memory: Option<usize>,
        permit_secret: Option<[u8; 32]>,
        clock: Option<&Bound<'_, PyManualClock>>,
    ) -> PyResult<Self> {
        let policy = policy(file_name, text)?;
        let redis = redis.map(|url| redis_store(url, nodes, timeout, prefix)).transpose()?;
        Ok(Self::new(policy, redis, max_memory, permit_secret, clock))
    }

    /// Decides a request by every rule that applies to it: all of them admit it, or none is charged.
    #[pyo3(signature = (attributes, cost=1, *, idempotency_key=None, wait=0.0))]
    fn check(
        &self,
        attributes: &Bound<'_, PyMapping>,
        cost: u64,
        idempotency_key: Option<String>,
        wait: f64,
    ) -> PyResult<PyAnswer> {
        if idempotency_key.is_none()
            && wait == 0.0
            && let Some(answer) = self.check_now(attributes, cost)?
        {
            return Ok(answer);
        }
        block_on(attributes.py(), self.decide(attributes, cost, idempotency_key, wait)?)
    }

    /// `check` without a wait for a store; `None`, and nothing is decided, if the state is in Redis.
    #[pyo3(signature = (attributes, cost=1))]
    fn check_now(&self, attributes: &Bound<'_, PyMapping>, cost: u64) -> PyResult<Option<PyAnswer>> {
        let StoreGate::Memory(gate) = &self.0 else { return Ok(None) };
        let answer = gate.check_now(&request(attributes, cost)?).map_err(gate_error)?;
        Ok(answer.map(|answer| PyAnswer::new(gate.permit(&answer), answer)))
    }

    /// `check` for asyncio.
    #[pyo3(signature = (attributes, cost=1, *, idempotency_key=None, wait=0.0))]
    fn check_async<'py>(
        &self,
        attributes: &Bound<'py, PyMapping>,
        cost: u64,
        idempotency_key: Option<String>,
        wait: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        awaitable(attributes.py(), self.decide(attributes, cost, idempotency_key, wait)?)
    }

    /// Replaces a charged cost by the actual one, even beyond the quota.
    #[pyo3(signature = (permit, cost, /))]
    fn settle(&self, py: Python<'_>, permit: &str, cost: u64) -> PyResult<&'static str> {
        block_on(py, self.settlement(permit, cost)?)
    }

    /// `settle` for asyncio.
    #[pyo3(signature = (permit, cost, /))]
    fn settle_async<'py>(&self, py: Python<'py>, permit: &str, cost: u64) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, self.settlement(permit, cost)?)
    }

    /// Gives back a charge, or releases a slot in flight.
    #[pyo3(signature = (permit, /))]
    fn refund(&self, py: Python<'_>, permit: &str) -> PyResult<&'static str> {
        block_on(py, self.settlement(permit, 0)?)
    }

    /// `refund` for asyncio.
    #[pyo3(signature = (permit, /))]
    fn refund_async<'py>(&self, py: Python<'py>, permit: &str) -> PyResult<Bound<'py, PyAny>> {
        awaitable(py, self.settlement(permit, 0)?)
    }
}

impl PyGate {
    fn new(
        policy: Policy,
        redis: Option<Fallback<Redis>>,
        max_memory: Option<usize>,
        permit_secret: Option<[u8; 32]>,
        clock: Option<&Bound<'_, PyManualClock>>,
    ) -> Self {
        let clock = LimiterClock::new(clock.map(Bound::get));
        Self(match redis {
            Some(store) => StoreGate::Redis(gate(policy, store, clock, permit_secret), ProcessId::current()),
            None => {
                let store = max_memory.map_or_else(Memory::default, Memory::new);
                StoreGate::Memory(gate(policy, store, clock, permit_secret))
            }
        })
    }

    fn gate(&self) -> PyResult<StoreGate> {
        if let StoreGate::Redis(_, process) = &self.0 {
            process.check()?;
        }
        Ok(self.0.clone())
    }

    fn decide(
        &self,
        attributes: &Bound<'_, PyMapping>,
        cost: u64,
        idempotency_key: Option<String>,
        wait: f64,
    ) -> PyResult<impl Future<Output = PyResult<PyAnswer>> + Send + use<>> {
        let gate = self.gate()?;
        let request = CheckRequest {
            request: request(attributes, cost)?,
            idempotency_key: idempotency_key.map(Into::into),
            wait: duration(wait)?,
        };
        Ok(async move {
            match &gate {
                StoreGate::Memory(gate) => answer(gate, gate.check(&request).await),
                StoreGate::Redis(gate, _) => answer(gate, gate.check(&request).await),
            }
        })
    }

    fn settlement(
        &self,
        permit: &str,
        cost: u64,
    ) -> PyResult<impl Future<Output = PyResult<&'static str>> + Send + use<>> {
        let (gate, permit) = (self.gate()?, permit.parse::<Permit>().map_err(permit_error)?);
        Ok(async move {
            let report = match &gate {
                StoreGate::Memory(gate) => gate.settle(&permit, cost).await.map_err(call_error),
                StoreGate::Redis(gate, _) => gate.settle(&permit, cost).await.map_err(call_error),
            };
            report.map(|report| settle_outcome_name(report.outcome))
        })
    }
}

fn policy(file_name: &str, text: &str) -> PyResult<Policy> {
    let policy = Policy::parse(file_name, text).map_err(configuration_error)?;
    Ok(policy)
}

fn gate<S: Store>(
    policy: Policy,
    store: S,
    clock: LimiterClock,
    permit_secret: Option<[u8; 32]>,
) -> Arc<Gate<S, LimiterClock>> {
    let gate = Gate::new(policy, store).clock(clock);
    Arc::new(match permit_secret {
        Some(secret) => gate.permit_secret(secret),
        None => gate,
    })
}

fn request(attributes: &Bound<'_, PyMapping>, cost: u64) -> PyResult<Request<'static>> {
    let mut request = Request::new().cost(cost);
    for attribute in attributes.items()? {
        let (name, value) = attribute.extract::<(String, String)>()?;
        request.set(name, value);
    }
    request.check().map_err(request_error)?;
    Ok(request)
}

fn answer<S: Store>(
    gate: &Gate<S, LimiterClock>,
    answer: Result<Answer, GateError<S::Error>>,
) -> PyResult<PyAnswer> {
    let answer = answer.map_err(gate_error)?;
    Ok(PyAnswer::new(gate.permit(&answer), answer))
}
