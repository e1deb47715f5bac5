//! Quantiles of decision latency.

use serde::Serialize;
use slidegate::telemetry::Latency;

/// Quantiles in microseconds, with fractions: a decision in memory takes less than one.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Quantiles {
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    count: u64,
}

impl Quantiles {
    /// `None` if no decision was timed.
    pub(super) fn of(latency: &Latency) -> Option<Self> {
        let us = |share| Some(latency.quantile_ns(share)? as f64 / 1_000.0);
        let count = latency.count();
        Some(Self { p50: us(0.5)?, p90: us(0.9)?, p99: us(0.99)?, p999: us(0.999)?, count })
    }
}
