//! Waiting for one's turn: first come, first served, key by key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use slidegate_core::Verdict;
use tokio::sync::Mutex as Turn;

use crate::clock::Clock;
use crate::key::Key;
use crate::limiter::Limiter;
use crate::store::Store;

/// How often to ask again for a place in flight, which may be released before its hold ends.
const ASK_AGAIN_MS: u64 = 20;

/// The lines in front of keys that somebody waits for; a key without a line takes no memory.
#[derive(Default, Debug)]
pub(crate) struct Lines(Mutex<HashMap<Key<'static>, Line>>);

/// Whose turn it is, and how many wait or have it. Counted under the lock: those who leave at the same time would each take
/// the other's hold on the turn for that of somebody who stays.
#[derive(Default, Debug)]
struct Line {
    turn: Arc<Turn<()>>,
    places: usize,
}

/// A place in the line of one key. The line goes with its last place.
struct Place<'a> {
    lines: &'a Lines,
    key: &'a Key<'static>,
    turn: Arc<Turn<()>>,
}

impl Lines {
    fn join<'a>(&'a self, key: &'a Key<'static>) -> Place<'a> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let line = lines.entry(key.clone()).or_default();
        line.places += 1;
        Place { lines: self, key, turn: line.turn.clone() }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut lines = self.lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(line) = lines.get_mut(self.key) else { return };
        line.places -= 1;
        if line.places == 0 {
            lines.remove(self.key);
        }
    }
}

impl<S: Store, C: Clock> Limiter<S, C> {
    /// Waits until one unit is admitted. Those who wait for one key get in in the order in which they came, as far as
    /// this limiter is concerned; dropping the future gives up the place.
    pub async fn acquire<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.acquire_many(key, 1).await
    }

    /// Waits until `cost` units are admitted together. A cost that can never fit is refused at once.
    pub async fn acquire_many<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Verdict, S::Error> {
        let key = key.into().into_owned();
        let place = self.lines.join(&key);
        let _turn = place.turn.lock().await;
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

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Threads that join and leave the same lines at the same time leave none behind.
    #[test]
    fn a_line_goes_with_its_last_place() {
        let lines = Lines::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for key in 0..20_000_u64 {
                        let key = Key::from(key % 8);
                        drop(lines.join(&key));
                    }
                });
            }
        });
        assert_eq!(lines.0.lock().unwrap_or_else(PoisonError::into_inner).len(), 0);
    }
}
