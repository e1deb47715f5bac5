//! Waiting for admission, in order of arrival per key.

use std::time::Duration;

use slidegate_core::Verdict;

use crate::async_limiter::AsyncLimiter;
use crate::clock::Clock;
use crate::engine::Engine;
use crate::limiter::Limiter;
use slidegate_store::Key;
use slidegate_store::Store;

/// Interval between attempts for a slot in flight, which may be released before its hold ends.
const POLL_MS: u64 = 20;

/// Error of `until_ready` and `until_ready_n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError<E> {
    /// The cost exceeds a limit, so that no wait would be long enough.
    #[error("cost {cost} exceeds the limit and can never be admitted")]
    NeverFits {
        /// Requested cost.
        cost: u64,
    },
    /// Too many callers wait for this key, or for all keys together.
    #[error("the wait queue is full; retry later, or raise `max_waiting`")]
    QueueFull,
    /// The store did not answer.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

impl<S: Store, C: Clock> Engine<S, C> {
    async fn until_ready(&self, key: Key<'_>, cost: u64) -> Result<Verdict, WaitError<S::Error>> {
        let key = key.into_owned();
        let ticket = self.queue.join([key.clone()]).ok_or(WaitError::QueueFull)?;
        let _turn = ticket.turn().await;
        loop {
            let verdict = self.decide(&key, cost).await.map_err(WaitError::Store)?;
            match verdict.retry_after_ms() {
                Some(wait_ms) => tokio::time::sleep(self.pause(wait_ms)).await,
                None if verdict.is_allowed() => return Ok(verdict),
                None => return Err(WaitError::NeverFits { cost }),
            }
        }
    }

    fn pause(&self, wait_ms: u64) -> Duration {
        let wait_ms = if self.in_flight { wait_ms.min(POLL_MS) } else { wait_ms };
        Duration::from_millis(wait_ms.max(1))
    }
}

macro_rules! until_ready {
    ($limiter:ident) => {
        impl<S: Store, C: Clock> $limiter<S, C> {
            /// Waits until one unit is admitted. Waiters for one key are admitted in the order in
            /// which they called this limiter; dropping the future cancels the wait.
            pub async fn until_ready<'k>(
                &self,
                key: impl Into<Key<'k>>,
            ) -> Result<Verdict, WaitError<S::Error>> {
                self.0.until_ready(key.into(), 1).await
            }

            /// Waits until `cost` units are admitted together. A cost that can never fit is an
            /// error at once.
            pub async fn until_ready_n<'k>(
                &self,
                key: impl Into<Key<'k>>,
                cost: u64,
            ) -> Result<Verdict, WaitError<S::Error>> {
                self.0.until_ready(key.into(), cost).await
            }
        }
    };
}
until_ready!(Limiter);
until_ready!(AsyncLimiter);
