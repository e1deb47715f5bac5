//! Rules of Netflix's concurrency-limits, as its sources define them, over windows of a second.

mod gradient2;
mod vegas;

pub use gradient2::Gradient2;
pub use vegas::Vegas;

use super::model::ConcurrencyControl;

const WINDOW_NS: u64 = 1_000_000_000;
const MIN_SAMPLES: u32 = 10;

/// Rule that derives a limit from each window.
pub trait UpdateRule {
    /// Takes the mean latency of a window and the most requests that were in flight.
    fn update(&mut self, latency_ns: f64, peak_in_flight: u32);

    /// Limit in force.
    fn limit(&self) -> u32;
}

/// Limiter that applies a rule to the mean latencies of windows (`WindowedLimit`).
#[derive(Debug)]
pub struct Windowed<R> {
    rule: R,
    in_flight: u32,
    window_end_ns: u64,
    latency_sum_ns: f64,
    samples: u32,
    peak_in_flight: u32,
}

/// Request in flight: its start, and how many there were with it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    start_ns: u64,
    in_flight: u32,
}

impl<R> Windowed<R> {
    /// Limiter by this rule.
    pub fn new(rule: R) -> Self {
        let (latency_sum_ns, samples, peak_in_flight) = (0.0, 0, 0);
        Self { rule, in_flight: 0, window_end_ns: 0, latency_sum_ns, samples, peak_in_flight }
    }
}

impl<R: UpdateRule> ConcurrencyControl for Windowed<R> {
    type Slot = Sample;

    fn try_acquire(&mut self, _: &str, now_ns: u64) -> Option<Sample> {
        if self.in_flight >= self.rule.limit() {
            return None;
        }
        self.in_flight += 1;
        Some(Sample { start_ns: now_ns, in_flight: self.in_flight })
    }

    fn release(&mut self, sample: Sample, now_ns: u64) {
        self.in_flight -= 1;
        self.latency_sum_ns += (now_ns - sample.start_ns) as f64;
        self.samples += 1;
        self.peak_in_flight = self.peak_in_flight.max(sample.in_flight);
        if now_ns > self.window_end_ns {
            if self.samples >= MIN_SAMPLES {
                self.rule.update(self.latency_sum_ns / f64::from(self.samples), self.peak_in_flight);
            }
            self.window_end_ns = now_ns + WINDOW_NS;
            (self.latency_sum_ns, self.samples, self.peak_in_flight) = (0.0, 0, 0);
        }
    }

    fn limit(&self) -> u32 {
        self.rule.limit()
    }
}
