//! Rate of requests at a node, from which follow how often it renews a lease and how much it wants.

use crate::time::mul_div;

/// Units per window are counted in 1024ths.
const ONE: u64 = 1 << 10;
/// Units between two renewals.
const UNITS_PER_SYNC: u64 = 40;
/// Requests within a sixteenth of a window from which on a lease takes fewer calls than it saves.
const START_REQUESTS: u64 = 20;

/// Estimate of the rate of requests.
#[derive(Clone, Debug)]
pub(super) struct RequestRate {
    window_ms: u64,
    /// Start of the present measurement.
    from_ms: u64,
    requests: u64,
    units: u64,
    /// Mean over about half a window, in 1024ths of a unit per window.
    mean: u64,
    /// Mean of the last measurements, in the same.
    recent: u64,
}

impl RequestRate {
    pub(super) fn new(window_ms: u64, now_ms: u64) -> Self {
        Self { window_ms, from_ms: now_ms, requests: 0, units: 0, mean: 0, recent: 0 }
    }

    /// Counts a request.
    pub(super) fn add(&mut self, cost: u64, now_ms: u64) {
        if self.mean == 0 && now_ms.saturating_sub(self.from_ms) >= (self.window_ms / 16).max(1) {
            *self = Self::new(self.window_ms, now_ms);
        }
        self.requests += 1;
        self.units = self.units.saturating_add(cost);
    }

    /// True if there were enough requests for a lease.
    pub(super) fn is_worth_a_lease(&self) -> bool {
        self.requests >= START_REQUESTS
    }

    /// Ends the present measurement, if it is long enough.
    pub(super) fn update(&mut self, round_trip_ms: u64, now_ms: u64) {
        let elapsed_ms = now_ms.saturating_sub(self.from_ms).max(1);
        if self.mean != 0 && elapsed_ms < self.interval_ms(round_trip_ms) / 4 {
            return;
        }
        let measured = mul_div(self.units.min(1 << 53) * ONE, self.window_ms, elapsed_ms).min(1 << 61);
        if self.mean == 0 {
            (self.mean, self.recent) = (measured, measured);
        } else {
            let weight = mul_div(2 * ONE, elapsed_ms, self.window_ms).min(3 * ONE / 4);
            self.mean = mul_div(self.mean, ONE - weight, ONE) + mul_div(measured, weight, ONE);
            self.recent = self.recent / 2 + measured / 2;
        }
        (self.from_ms, self.requests, self.units) = (now_ms, 0, 0);
    }

    /// Units per window.
    pub(super) fn demand(&self) -> u64 {
        self.mean.div_ceil(ONE)
    }

    /// Time between two renewals.
    pub(super) fn interval_ms(&self, round_trip_ms: u64) -> u64 {
        let (shortest_ms, longest_ms) = (self.window_ms / 64, self.window_ms / 16);
        let ms = match self.mean {
            0 => longest_ms,
            mean => mul_div(UNITS_PER_SYNC * ONE, self.window_ms, mean).clamp(shortest_ms, longest_ms),
        };
        ms.max(2 * round_trip_ms).max(1)
    }

    /// Units that are needed within this time, by the recent rate if that is not more than twice
    /// the mean.
    pub(super) fn units_within(&self, ms: u64) -> u64 {
        let rate = self.recent.max(self.mean.min(2 * self.recent));
        mul_div(rate, ms, self.window_ms).div_ceil(ONE)
    }
}
