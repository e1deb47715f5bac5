//! Python bindings of Slidegate: the module `slidegate._native`.
//!
//! The package in `python/slidegate` re-exports the classes and adds coroutines and clients in
//! Python. The bindings convert values and errors and decide nothing.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `limiter`, `redis_limiter` | limiters in memory and over Redis or Valkey |
//! | `gate`, `answer` | a policy over one of these stores, and its answers |
//! | `limit`, `key`, `clock` | their arguments |
//! | `verdict`, `errors` | their results |
//! | `runtime` | the Tokio runtime, and futures of asyncio that it completes |

#![forbid(unsafe_code)]

mod answer;
mod clock;
mod errors;
mod gate;
mod key;
mod limit;
mod limiter;
mod redis_limiter;
mod runtime;
mod verdict;

/// Engine of the package `slidegate`.
#[pyo3::pymodule(name = "_native")]
mod native {
    #[pymodule_export]
    use crate::answer::{PyAnswer, PyLimitAnswer};
    #[pymodule_export]
    use crate::clock::PyManualClock;
    #[pymodule_export]
    use crate::errors::{
        ConfigurationError, NeverFitsError, PermitError, QueueFullError, RequestError, SlidegateError,
        StoreError,
    };
    #[pymodule_export]
    use crate::gate::PyGate;
    #[pymodule_export]
    use crate::limit::PyLimit;
    #[pymodule_export]
    use crate::limiter::PyLimiter;
    #[pymodule_export]
    use crate::redis_limiter::PyRedisLimiter;
    #[pymodule_export]
    use crate::verdict::{PyDecision, PyReservation, PyVerdict};

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        crate::runtime::register_exit(module)
    }
}
