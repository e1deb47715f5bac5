//! Clocks: the system's, or one that a test moves.

use pyo3::prelude::*;
use slidegate::{Clock, ManualClock, SystemClock};

/// Clock that a test moves by hand.
#[pyclass(name = "ManualClock", module = "slidegate", frozen)]
#[derive(Debug)]
pub(crate) struct PyManualClock(ManualClock);

#[pymethods]
impl PyManualClock {
    #[new]
    #[pyo3(signature = (now_ms=0))]
    fn new(now_ms: u64) -> Self {
        Self(ManualClock::new(now_ms))
    }

    #[getter]
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    /// Moves the clock forward.
    fn advance_ms(&self, ms: u64) {
        self.0.advance_ms(ms);
    }

    /// Sets the clock, forward or back.
    fn set_ms(&self, now_ms: u64) {
        self.0.set_ms(now_ms);
    }
}

/// Clock of a limiter.
#[derive(Debug)]
pub(crate) enum LimiterClock {
    System(SystemClock),
    Manual(ManualClock),
}

impl LimiterClock {
    pub(crate) fn new(manual: Option<&PyManualClock>) -> Self {
        match manual {
            Some(PyManualClock(clock)) => Self::Manual(clock.clone()),
            None => Self::System(SystemClock::new()),
        }
    }
}

impl Clock for LimiterClock {
    #[inline]
    fn now_ms(&self) -> u64 {
        match self {
            Self::System(clock) => clock.now_ms(),
            Self::Manual(clock) => clock.now_ms(),
        }
    }
}
