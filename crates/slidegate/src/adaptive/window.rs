//! Sampling window: the measurements between two changes of the limit.

use std::time::{Duration, Instant};

/// Samples that a window needs where latencies vary as much as their mean: their mean is off by 6 %
/// then. It is the square of the variation that counts: half of it needs a quarter of the samples.
const SAMPLES: f64 = 250.0;

/// Fewest samples of a window: of fewer, the variation is unknown.
const MIN_SAMPLES: f64 = 30.0;

/// Samples after which a window ends, however much latencies vary.
const MAX_SAMPLES: f64 = 1_000.0;

/// Latencies that a window lasts at least.
const LATENCIES: f64 = 2.0;

/// Latencies after which a window opens, even if more requests than the limit are still in flight.
const MAX_DRAIN_LATENCIES: f64 = 5.0;

/// Bound of the length of a window that waits for long latencies, in seconds.
const MAX_LENGTH_S: f64 = 60.0;

/// Measurements of the requests that end in one window. The limit is constant meanwhile, and its
/// last change shows: requests of before have ended.
#[derive(Debug)]
pub(super) struct SampleWindow {
    min_length: Duration,
    opening: Opening,
    latencies: Latencies,
    overloads: u32,
    refusals: u32,
    peak_in_flight: u32,
}

/// Start of a window.
#[derive(Clone, Copy, Debug)]
enum Opening {
    /// With the first request. Only short requests end soon after it, so this window measures
    /// nothing.
    FirstRequest,
    /// The first window, which warms up.
    WarmUp(Instant),
    /// After no more than `limit` requests are in flight, and `delay` later; at `latest` anyway.
    Drain {
        limit: u32,
        delay: Duration,
        latest: Instant,
    },
    At(Instant),
}

/// Sums of latencies.
#[derive(Clone, Copy, Default, Debug)]
struct Latencies {
    count: u32,
    sum_s: f64,
    sum_of_squares: f64,
}

/// Result of a window, from which an algorithm derives the next limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measurement {
    /// Mean latency of the requests that succeeded; `None` if there were none.
    pub(super) latency_s: Option<f64>,
    /// Share of the requests that met an overload.
    pub(super) overload_share: f64,
    /// True if the requests in flight reached half of the limit: otherwise it does not matter.
    pub(super) limit_used: bool,
    /// True if a request was refused.
    pub(super) limit_reached: bool,
}

impl Latencies {
    fn add(&mut self, latency_s: f64) {
        self.count = self.count.saturating_add(1);
        self.sum_s += latency_s;
        self.sum_of_squares += latency_s * latency_s;
    }

    fn mean_s(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_s / f64::from(self.count))
    }

    /// Samples that a mean of these latencies needs.
    fn required(&self) -> f64 {
        let mean_s = self.mean_s().unwrap_or(0.0);
        if mean_s <= 0.0 {
            return MIN_SAMPLES;
        }
        let mean_of_squares = self.sum_of_squares / f64::from(self.count);
        let variation_squared = (mean_of_squares / (mean_s * mean_s) - 1.0).max(0.0);
        (SAMPLES * variation_squared).clamp(MIN_SAMPLES, MAX_SAMPLES)
    }
}

impl SampleWindow {
    /// First window, which starts with the first request.
    pub(super) fn new(min_length: Duration) -> Self {
        Self {
            min_length,
            opening: Opening::FirstRequest,
            latencies: Latencies::default(),
            overloads: 0,
            refusals: 0,
            peak_in_flight: 0,
        }
    }

    /// Adds a request that starts; `in_flight` includes it.
    pub(super) fn add_start(&mut self, now: Instant, in_flight: u32) {
        if matches!(self.opening, Opening::FirstRequest) {
            self.opening = Opening::WarmUp(now);
        }
        self.peak_in_flight = self.peak_in_flight.max(in_flight);
    }

    /// Adds a request that was refused.
    pub(super) fn add_refusal(&mut self) {
        self.refusals = self.refusals.saturating_add(1);
    }

    /// Adds the latency of a request that succeeded.
    pub(super) fn add_success(&mut self, now: Instant, in_flight: u32, latency: Duration) {
        if self.is_open(now, in_flight) {
            self.latencies.add(latency.as_secs_f64());
        }
    }

    /// Adds a request that met an overload.
    pub(super) fn add_overload(&mut self, now: Instant, in_flight: u32) {
        if self.is_open(now, in_flight) {
            self.overloads = self.overloads.saturating_add(1);
        }
    }

    fn is_open(&mut self, now: Instant, in_flight: u32) -> bool {
        match self.opening {
            Opening::FirstRequest => false,
            Opening::WarmUp(_) => true,
            Opening::Drain { limit, delay, latest } => {
                if in_flight <= limit || now >= latest {
                    self.opening = Opening::At(now + delay);
                }
                false
            }
            Opening::At(start) => now >= start,
        }
    }

    /// Result of the window, if it is long enough and has enough samples. The next one starts then,
    /// with [`SampleWindow::restart`].
    pub(super) fn end(&mut self, now: Instant, limit: u32) -> Option<Measurement> {
        let (Opening::WarmUp(start) | Opening::At(start)) = self.opening else { return None };
        let samples = self.latencies.count.saturating_add(self.overloads);
        let length = now.saturating_duration_since(start);
        let latency_s = self.latencies.mean_s();
        let settled_s = (LATENCIES * latency_s.unwrap_or(0.0)).min(MAX_LENGTH_S);
        if f64::from(samples) < self.latencies.required()
            || length < self.min_length
            || length.as_secs_f64() < settled_s
        {
            return None;
        }
        if matches!(self.opening, Opening::WarmUp(_)) {
            *self = Self { opening: Opening::At(now), ..Self::new(self.min_length) };
            return None;
        }
        Some(Measurement {
            latency_s,
            overload_share: f64::from(self.overloads) / f64::from(samples),
            limit_used: self.peak_in_flight >= limit.div_ceil(2),
            limit_reached: self.refusals > 0,
        })
    }

    /// Starts the next window, under a limit that may be another one.
    pub(super) fn restart(&mut self, now: Instant, last_limit: u32, limit: u32, in_flight: u32) {
        let latency_s = self.latencies.mean_s().unwrap_or(0.0).min(MAX_LENGTH_S);
        let delay = Duration::from_secs_f64(latency_s);
        let opening = if limit == last_limit {
            Opening::At(now)
        } else {
            let latest = now + delay.mul_f64(MAX_DRAIN_LATENCIES);
            Opening::Drain { limit, delay, latest }
        };
        *self = Self { opening, peak_in_flight: in_flight, ..Self::new(self.min_length) };
    }
}
