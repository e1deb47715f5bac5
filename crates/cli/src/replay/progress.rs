//! Progress bar on standard error, if that is a terminal.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

use slidegate_tune::access_log::ReadProgress;

/// Time between two updates.
const EVERY: Duration = Duration::from_millis(100);
/// Cells of the bar.
const CELLS: u64 = 24;
const MEGABYTE: f64 = 1e6;

/// Progress bar with the rate and the time left.
pub(crate) struct ProgressBar {
    started: Instant,
    last: Cell<Option<Instant>>,
    is_visible: bool,
}

impl ProgressBar {
    /// Bar from now on.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now(), last: Cell::new(None), is_visible: stderr().is_terminal() }
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if self.last.get().is_some() {
            let _ = write!(stderr(), "\r\x1b[2K");
        }
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl ReadProgress for ProgressBar {
    fn bytes(&self, read: u64, total: Option<u64>) {
        let now = Instant::now();
        let is_due = self.last.get().is_none_or(|last| now - last >= EVERY);
        if self.is_visible && is_due {
            self.last.set(Some(now));
            let mut out = stderr();
            let _ = write!(out, "\r\x1b[2K{}", bar(read, total, now - self.started));
            let _ = out.flush();
        }
    }
}

/// The bar, or without a known end the rate alone.
fn bar(read: u64, total: Option<u64>, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let rate = read as f64 / seconds;
    let speed = format!("{:.0} MB/s", rate / MEGABYTE);
    let Some(total) = total.filter(|total| *total > 0) else {
        return format!("{:.0} MB  {speed}", read as f64 / MEGABYTE);
    };
    let read = read.min(total);
    let filled = (read * CELLS / total) as usize;
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(CELLS as usize - filled));
    let left_s = if rate > 0.0 { ((total - read) as f64 / rate).ceil() as u64 } else { 0 };
    format!("{bar} {:3} %  {speed}  {}:{:02} left", read * 100 / total, left_s / 60, left_s % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_rate_and_time_left() {
        let rows = [
            (0, Some(100), 1, "░░░░░░░░░░░░░░░░░░░░░░░░   0 %  0 MB/s  0:00 left"),
            (50_000_000, Some(200_000_000), 2, "██████░░░░░░░░░░░░░░░░░░  25 %  25 MB/s  0:06 left"),
            (200_000_000, Some(200_000_000), 2, "████████████████████████ 100 %  100 MB/s  0:00 left"),
            (300, Some(200), 1, "████████████████████████ 100 %  0 MB/s  0:00 left"),
            (50_000_000, None, 1, "50 MB  50 MB/s"),
            (1_000_000, Some(100_000_000), 1, "░░░░░░░░░░░░░░░░░░░░░░░░   1 %  1 MB/s  1:39 left"),
        ];
        for (read, total, seconds, expected) in rows {
            assert_eq!(bar(read, total, Duration::from_secs(seconds)), expected);
        }
    }
}
