//! Log throttle: at most one line per interval, with the number of events.

use std::time::Duration;

use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(1);

/// Throttle of one kind of event.
pub(crate) struct LogThrottle {
    pause: Duration,
    last: Option<Instant>,
    times: u64,
}

impl Default for LogThrottle {
    /// One line per second.
    fn default() -> Self {
        Self::once_in(PAUSE)
    }
}

impl LogThrottle {
    /// One line per `pause`.
    pub(crate) fn once_in(pause: Duration) -> Self {
        Self { pause, last: None, times: 0 }
    }

    /// Counts an event. Returns the number of events since the last line, if a line is due.
    pub(crate) fn note(&mut self) -> Option<u64> {
        self.times += 1;
        let now = Instant::now();
        if self.last.is_some_and(|last| now.duration_since(last) < self.pause) {
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn once_in_a_second() {
        let mut throttle = LogThrottle::default();
        let mut logged = Vec::new();
        for _ in 0..25 {
            logged.extend(throttle.note());
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(logged, [1, 10, 10]);
    }
}
