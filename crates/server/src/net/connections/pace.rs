//! Pace of connections that begin or end, so that the requests of others do not wait behind them.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

/// Maximum number at once for each worker. To begin and end one takes about 25 µs, so this leaves
/// most of a core to the others.
const AT_ONCE: usize = 8;
/// Pause after a batch.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Maximum number at once.
pub(super) fn at_once() -> usize {
    AT_ONCE * Handle::try_current().map_or(1, |runtime| runtime.metrics().num_workers())
}

/// Number of connections that arrived without a pause.
#[derive(Default)]
pub(crate) struct Pace {
    first: Option<Instant>,
    count: usize,
}

impl Pace {
    /// Counts a connection; waits if too many have come within a short time.
    pub(crate) async fn step(&mut self) {
        let first = *self.first.get_or_insert_with(Instant::now);
        self.count += 1;
        if self.count >= at_once() {
            *self = Self::default();
            if first.elapsed() < PAUSE {
                sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_crowd_waits() {
        let (began, mut pace) = (Instant::now(), Pace::default());
        for _ in 0..10 * AT_ONCE {
            pace.step().await;
        }
        assert_eq!(began.elapsed(), 10 * PAUSE);
        let began = Instant::now();
        for _ in 0..10 * AT_ONCE {
            tokio::time::advance(PAUSE).await;
            pace.step().await;
        }
        assert_eq!(began.elapsed(), 10 * AT_ONCE as u32 * PAUSE, "the pace adds no wait");
    }
}
