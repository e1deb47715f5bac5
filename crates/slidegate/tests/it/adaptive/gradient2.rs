//! Gradient2 of Netflix's concurrency-limits, as its sources define it, with windows of a second: the
//! reference that the gradient algorithm is compared with.

use super::model::Control;

const WINDOW_NS: u64 = 1_000_000_000;
const MIN_SAMPLES: u32 = 10;
const WARM_UP: u32 = 10;
const LONG_WEIGHT: f64 = 2.0 / (600.0 + 1.0);
const SMOOTHING: f64 = 0.2;
const QUEUE: f64 = 4.0;

pub(super) struct Gradient2 {
    tolerance: f64,
    limit: f64,
    in_flight: u32,
    long_ns: f64,
    warm_up_sum_ns: f64,
    windows: u32,
    window_end_ns: u64,
    latency_sum_ns: f64,
    samples: u32,
    peak_in_flight: u32,
}

impl Gradient2 {
    pub(super) fn new(tolerance: f64) -> Self {
        Self {
            tolerance,
            limit: 20.0,
            in_flight: 0,
            long_ns: 0.0,
            warm_up_sum_ns: 0.0,
            windows: 0,
            window_end_ns: 0,
            latency_sum_ns: 0.0,
            samples: 0,
            peak_in_flight: 0,
        }
    }

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
}

impl Control for Gradient2 {
    /// Start of the request.
    type Slot = u64;

    fn try_acquire(&mut self, now_ns: u64) -> Option<u64> {
        let admitted = self.in_flight < self.limit();
        self.in_flight += u32::from(admitted);
        admitted.then_some(now_ns)
    }

    fn release(&mut self, start_ns: u64, now_ns: u64) {
        self.latency_sum_ns += (now_ns - start_ns) as f64;
        self.samples += 1;
        self.peak_in_flight = self.peak_in_flight.max(self.in_flight);
        self.in_flight -= 1;
        if now_ns > self.window_end_ns {
            if self.samples >= MIN_SAMPLES {
                self.update(self.latency_sum_ns / f64::from(self.samples), self.peak_in_flight);
            }
            self.window_end_ns = now_ns + WINDOW_NS;
            (self.latency_sum_ns, self.samples, self.peak_in_flight) = (0.0, 0, 0);
        }
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }
}
