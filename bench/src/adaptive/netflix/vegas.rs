//! Vegas: the limit follows an estimate of the queue, from the lowest latency of late.

use super::UpdateRule;
use crate::workload::Random;

const PROBE_MULTIPLIER: f64 = 30.0;
const MAX_LIMIT: f64 = 1000.0;

/// Rule of `VegasLimit`.
#[derive(Debug)]
pub struct Vegas {
    random: Random,
    limit: f64,
    lowest_ns: Option<f64>,
    updates: u32,
    jitter: f64,
}

impl Vegas {
    /// Rule that starts with this limit. The seed is that of the jitter of probes.
    pub fn new(initial: u32, seed: u64) -> Self {
        let mut random = Random::seeded(seed);
        let jitter = jitter(&mut random);
        Self { random, limit: f64::from(initial), lowest_ns: None, updates: 0, jitter }
    }
}

fn jitter(random: &mut Random) -> f64 {
    0.5 + random.unit() / 2.0
}

/// Digits of a limit before the first, at least 1.
fn step(limit: f64) -> f64 {
    limit.log10().floor().max(1.0)
}

impl UpdateRule for Vegas {
    fn update(&mut self, latency_ns: f64, peak_in_flight: u32) {
        self.updates += 1;
        if self.jitter * PROBE_MULTIPLIER * self.limit <= f64::from(self.updates) {
            self.jitter = jitter(&mut self.random);
            self.updates = 0;
            self.lowest_ns = Some(latency_ns);
            return;
        }
        let lowest_ns = match self.lowest_ns {
            Some(lowest_ns) if latency_ns >= lowest_ns => lowest_ns,
            _ => {
                self.lowest_ns = Some(latency_ns);
                return;
            }
        };
        if f64::from(peak_in_flight) * 2.0 < self.limit {
            return;
        }
        let queue = (self.limit * (1.0 - lowest_ns / latency_ns)).ceil();
        let step = step(self.limit);
        let (alpha, beta) = (3.0 * step, 6.0 * step);
        let change = if queue <= step {
            beta
        } else if queue < alpha {
            step
        } else if queue > beta {
            -step
        } else {
            0.0
        };
        self.limit = (self.limit + change).clamp(1.0, MAX_LIMIT);
    }

    fn limit(&self) -> u32 {
        self.limit as u32
    }
}

/// Limits that the tests of the library publish for these latencies.
#[cfg(test)]
mod tests {
    use super::{UpdateRule, Vegas};

    #[test]
    fn limits_are_those_of_the_published_tests() {
        let rows = [(10, 10.0, 10, 16), (10, 50.0, 11, 9), (10, 14.0, 14, 10)];
        for (initial, latency_ms, in_flight, limit) in rows {
            let mut vegas = Vegas::new(initial, 1);
            vegas.update(10e6, initial);
            assert_eq!(vegas.limit(), initial, "the first latency is the lowest");
            vegas.update(latency_ms * 1e6, in_flight);
            assert_eq!(vegas.limit(), limit, "{latency_ms} ms");
        }
    }
}
