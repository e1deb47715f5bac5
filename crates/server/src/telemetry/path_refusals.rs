//! Counts of requests that are refused for their path.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate::{GateError, RequestError};

/// Requests whose path no rule can judge, by reason.
#[derive(Debug, Default)]
pub(crate) struct PathRefusals {
    too_many_readings: AtomicU64,
    ambiguous: AtomicU64,
}

impl PathRefusals {
    /// Counts a request that failed for this reason, if it is its path.
    pub(crate) fn count(&self, error: &RequestError) {
        let counter = match error {
            RequestError::TooManyReadings => &self.too_many_readings,
            RequestError::AmbiguousPath { .. } => &self.ambiguous,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The same for an answer, if there is none.
    #[inline]
    pub(crate) fn count_of<T, E>(&self, answer: &Result<T, GateError<E>>) {
        if let Err(GateError::Request(error)) = answer {
            self.count(error);
        }
    }

    /// Those that servers could read in too many ways, and those whose subject depends on who reads it.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 2] {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [("too_many_readings", read(&self.too_many_readings)), ("ambiguous", read(&self.ambiguous))]
    }
}
