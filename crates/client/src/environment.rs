//! Environment of a client: clocks, sleep and randomness, which come from outside.

use std::time::Duration;

/// Clocks, sleep and randomness.
pub trait Environment: Send + Sync + 'static {
    /// Unix time in milliseconds, which dates in headers are compared with.
    fn unix_ms(&self) -> u64;

    /// Milliseconds since any fixed moment. Never goes back.
    fn monotonic_ms(&self) -> u64;

    /// Random number, all 64 bits of it.
    fn random(&self) -> u64;

    /// Future that is ready after a duration.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send;
}

#[cfg(feature = "tokio")]
pub use tokio_environment::TokioEnvironment;

#[cfg(feature = "tokio")]
mod tokio_environment {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use tokio::time::Instant;

    use super::Environment;

    /// The timers of Tokio, the clock and the random numbers of the system.
    #[derive(Clone, Copy, Debug)]
    pub struct TokioEnvironment {
        start: Instant,
    }

    impl TokioEnvironment {
        /// Environment whose monotonic clock starts now.
        pub fn new() -> Self {
            Self { start: Instant::now() }
        }
    }

    impl Default for TokioEnvironment {
        fn default() -> Self {
            Self::new()
        }
    }

    impl Environment for TokioEnvironment {
        fn unix_ms(&self) -> u64 {
            SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
        }

        fn monotonic_ms(&self) -> u64 {
            self.start.elapsed().as_millis() as u64
        }

        fn random(&self) -> u64 {
            getrandom::u64().expect("the system has random numbers")
        }

        fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
            tokio::time::sleep(duration)
        }
    }
}
