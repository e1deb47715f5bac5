//! Waiting for one's turn: first come, first served, key by key.

use std::time::Duration;

use slidegate_core::Verdict;

use crate::clock::Clock;
use crate::limiter::Limiter;
use slidegate_store::Key;
use slidegate_store::Store;

/// How often to ask again for a place in flight, which may be released before its hold ends.
const ASK_AGAIN_MS: u64 = 20;

impl<S: Store, C: Clock> Limiter<S, C> {
    /// Waits until one unit is admitted. Those who wait for one key get in in the order in which they came, as far as
    /// this limiter is concerned; dropping the future gives up the place.
    pub async fn acquire<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.acquire_many(key, 1).await
    }

    /// Waits until `cost` units are admitted together. A cost that can never fit is refused at once.
    pub async fn acquire_many<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Verdict, S::Error> {
        let key = key.into().into_owned();
        let place = self.lines.join(key.clone()).expect("these lines have no bound");
        let _turn = place.turn().await;
        loop {
            let verdict = self.charge(key.clone(), cost).await?;
            match verdict.retry_after_ms() {
                Some(wait_ms) => tokio::time::sleep(self.patience(wait_ms)).await,
                None => return Ok(verdict),
            }
        }
    }

    fn patience(&self, wait_ms: u64) -> Duration {
        let wait_ms = if self.in_flight { wait_ms.min(ASK_AGAIN_MS) } else { wait_ms };
        Duration::from_millis(wait_ms.max(1))
    }
}
