//! Environment in virtual time: Tokio's clock, which tests pause, and numbers from a counter.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slidegate_client::Environment;
use slidegate_testkit::cases::Rng;
use tokio::time::Instant;

/// Wed, 18 Nov 2026 15:00:00 GMT.
const START_MS: u64 = 1_795_014_000_000;

pub(crate) struct VirtualEnvironment {
    start: Instant,
    seed: AtomicU64,
}

impl VirtualEnvironment {
    pub(crate) fn new() -> Self {
        Self { start: Instant::now(), seed: AtomicU64::new(0) }
    }
}

impl Environment for VirtualEnvironment {
    fn unix_ms(&self) -> u64 {
        START_MS + self.monotonic_ms()
    }

    fn monotonic_ms(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    fn random(&self) -> u64 {
        Rng::new(self.seed.fetch_add(1, Ordering::Relaxed)).next()
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}
