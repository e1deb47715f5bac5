//! Counts of failed calls, by kind.

use std::sync::atomic::{AtomicU64, Ordering};

use super::error::{RedisError, RedisErrorKind};

/// Count of every kind of error.
#[derive(Default, Debug)]
pub(super) struct ErrorCounts([AtomicU64; RedisErrorKind::ALL.len()]);

impl ErrorCounts {
    /// Counts an error, and returns the result.
    pub(super) fn counted<T>(&self, result: Result<T, RedisError>) -> Result<T, RedisError> {
        if let Err(error) = &result {
            self.0[error.kind() as usize].fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// Count of every kind.
    pub(super) fn counts(&self) -> [(RedisErrorKind, u64); RedisErrorKind::ALL.len()] {
        RedisErrorKind::ALL.map(|kind| (kind, self.0[kind as usize].load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_count_of_its_own() {
        let errors = ErrorCounts::default();
        let all = [
            RedisError::Unreachable(String::new()),
            RedisError::Lost(String::new()),
            RedisError::TimedOut,
            RedisError::Open,
            RedisError::Overloaded,
            RedisError::Refused { code: String::new(), text: String::new() },
            RedisError::TooManyLimits(65),
            RedisError::Protocol(String::new()),
        ];
        for (times, error) in (1..).zip(&all) {
            for _ in 0..times {
                assert_eq!(errors.counted::<()>(Err(error.clone())), Err(error.clone()));
            }
        }
        assert_eq!(errors.counted(Ok(7)), Ok(7));
        let expected: Vec<_> = all.iter().map(RedisError::kind).zip(1..).collect();
        assert_eq!(errors.counts().as_slice(), expected);
        let mut names: Vec<_> = RedisErrorKind::ALL.map(RedisErrorKind::name).into();
        names.dedup();
        assert_eq!(names.len(), all.len());
    }
}
