//! Gradient2: the limit follows the ratio of a long average of latency to the latest one.

use super::UpdateRule;

const WARM_UP: u32 = 10;
const LONG_WEIGHT: f64 = 2.0 / (600.0 + 1.0);
const SMOOTHING: f64 = 0.2;
const QUEUE: f64 = 4.0;

/// Rule of `Gradient2Limit`, within other bounds: its own, 20 to 200, would hide where it settles.
#[derive(Debug)]
pub struct Gradient2 {
    tolerance: f64,
    limit: f64,
    long_ns: f64,
    warm_up_sum_ns: f64,
    windows: u32,
}

impl Gradient2 {
    /// Tolerance by default.
    pub const TOLERANCE: f64 = 1.5;

    /// Rule with this tolerance, and this limit to start with.
    pub fn new(tolerance: f64, initial: u32) -> Self {
        Self { tolerance, limit: f64::from(initial), long_ns: 0.0, warm_up_sum_ns: 0.0, windows: 0 }
    }
}

impl UpdateRule for Gradient2 {
    fn update(&mut self, short_ns: f64, peak_in_flight: u32) {
        if self.windows < WARM_UP {
            self.windows += 1;
            self.warm_up_sum_ns += short_ns;
            self.long_ns = self.warm_up_sum_ns / f64::from(self.windows);
        } else {
            self.long_ns += LONG_WEIGHT * (short_ns - self.long_ns);
        }
        let long_ns = self.long_ns;
        if long_ns / short_ns > 2.0 {
            self.long_ns *= 0.95;
        }
        if f64::from(peak_in_flight) < self.limit / 2.0 {
            return;
        }
        let gradient = (self.tolerance * long_ns / short_ns).clamp(0.5, 1.0);
        let target = self.limit * gradient + QUEUE;
        self.limit = (self.limit * (1.0 - SMOOTHING) + target * SMOOTHING).clamp(4.0, 1000.0);
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }
}
