//! Sampling window: the measurements between two changes of the limit.

use std::time::{Duration, Instant};

/// Samples that a window needs before it ends. With latencies that vary as much as their mean, the
/// mean of 250 is off by 6 %; a baseline learned from fewer misled the limit in simulations.
const MIN_SAMPLES: u32 = 250;

/// Latencies that a window lasts at least: a change of the limit shows after one of them.
const LATENCIES: f64 = 2.0;

/// Latencies that the first window lasts at least. Only short requests end soon after a start, so
/// an early mean is too low.
const FIRST_LATENCIES: f64 = 4.0;

/// Bound of the length of a window that waits for long latencies, in seconds.
const MAX_LENGTH_S: f64 = 60.0;

/// Measurements of the requests that end in one window. The limit is constant meanwhile.
#[derive(Debug)]
pub(super) struct Window {
    min_length: Duration,
    /// Latencies that this window lasts at least.
    latencies: f64,
    start: Option<Instant>,
    latency_sum_s: f64,
    successes: u32,
    overloads: u32,
    peak_in_flight: u32,
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
}

impl Window {
    /// First window, which starts with the first request.
    pub(super) fn new(min_length: Duration) -> Self {
        Self {
            min_length,
            latencies: FIRST_LATENCIES,
            start: None,
            latency_sum_s: 0.0,
            successes: 0,
            overloads: 0,
            peak_in_flight: 0,
        }
    }

    /// Adds a request that starts; `in_flight` includes it.
    pub(super) fn add_start(&mut self, now: Instant, in_flight: u32) {
        self.start.get_or_insert(now);
        self.peak_in_flight = self.peak_in_flight.max(in_flight);
    }

    /// Adds the latency of a request that succeeded.
    pub(super) fn add_success(&mut self, latency: Duration) {
        self.latency_sum_s += latency.as_secs_f64();
        self.successes = self.successes.saturating_add(1);
    }

    /// Adds a request that met an overload.
    pub(super) fn add_overload(&mut self) {
        self.overloads = self.overloads.saturating_add(1);
    }

    /// Ends the window if it is long enough and has enough samples, and starts the next one.
    pub(super) fn end(&mut self, now: Instant, limit: u32, in_flight: u32) -> Option<Measurement> {
        let samples = self.successes.saturating_add(self.overloads);
        let length = now.saturating_duration_since(self.start?);
        let latency_s = (self.successes > 0).then(|| self.latency_sum_s / f64::from(self.successes));
        let settled_s = (self.latencies * latency_s.unwrap_or(0.0)).min(MAX_LENGTH_S);
        if samples < MIN_SAMPLES || length < self.min_length || length.as_secs_f64() < settled_s {
            return None;
        }
        let measurement = Measurement {
            latency_s,
            overload_share: f64::from(self.overloads) / f64::from(samples),
            limit_used: self.peak_in_flight >= limit.div_ceil(2),
        };
        *self = Self {
            latencies: LATENCIES,
            start: Some(now),
            peak_in_flight: in_flight,
            ..Self::new(self.min_length)
        };
        Some(measurement)
    }
}
