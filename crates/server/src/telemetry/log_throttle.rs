//! What may happen often is told seldom: at most once in a while, with how many times it was.

use std::time::Duration;

use tokio::time::Instant;

const PAUSE: Duration = Duration::from_secs(1);

/// Something that may happen often.
pub(crate) struct LogThrottle {
    pause: Duration,
    told: Option<Instant>,
    times: u64,
}

impl Default for LogThrottle {
    /// Once in a second.
    fn default() -> Self {
        Self::once_in(PAUSE)
    }
}

impl LogThrottle {
    /// At most once in so long.
    pub(crate) fn once_in(pause: Duration) -> Self {
        Self { pause, told: None, times: 0 }
    }

    /// It happened; how many times since it was last told, if it is to be told now.
    pub(crate) fn note(&mut self) -> Option<u64> {
        self.times += 1;
        let now = Instant::now();
        if self.told.is_some_and(|told| now.duration_since(told) < self.pause) {
            return None;
        }
        self.told = Some(now);
        Some(std::mem::take(&mut self.times))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn once_in_a_second() {
        let mut seldom = LogThrottle::default();
        let mut told = Vec::new();
        for _ in 0..25 {
            told.extend(seldom.note());
            tokio::time::advance(Duration::from_millis(100)).await;
        }
        assert_eq!(told, [1, 10, 10]);
    }
}
