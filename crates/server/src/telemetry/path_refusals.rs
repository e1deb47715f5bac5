//! Counts of requests that are refused because of their path.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate::{GateError, RequestError};

/// Counts of requests whose path cannot be matched, by reason.
#[derive(Debug, Default)]
pub(crate) struct PathRefusals {
    too_many_readings: AtomicU64,
    ambiguous: AtomicU64,
}

impl PathRefusals {
    /// Counts an error, if it is about the path.
    pub(crate) fn count(&self, error: &RequestError) {
        let counter = match error {
            RequestError::TooManyReadings => &self.too_many_readings,
            RequestError::AmbiguousPath { .. } => &self.ambiguous,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the error of an answer, if it is about the path.
    #[inline]
    pub(crate) fn count_of<T, E>(&self, answer: &Result<T, GateError<E>>) {
        if let Err(GateError::Request(error)) = answer {
            self.count(error);
        }
    }

    /// Counts by label of the reason.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 2] {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [("too_many_readings", read(&self.too_many_readings)), ("ambiguous", read(&self.ambiguous))]
    }
}
