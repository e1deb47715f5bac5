//! Sample of the telemetry at a point in time.

use serde::Serialize;
use slidegate::Clock;
use slidegate::telemetry::{Latency, Series, Telemetry};

use crate::runtime::Runtime;

/// Counts of the telemetry at a point in time.
pub(super) struct Sample {
    pub(super) at_ms: u64,
    pub(super) totals: Totals,
    pub(super) series: Vec<Series>,
    pub(super) latency: Latency,
}

/// Requests since startup, by outcome.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Totals {
    allowed: u64,
    denied: u64,
    barred: u64,
    unlimited: u64,
    looked: u64,
    failed: u64,
    replayed: u64,
    would_deny: u64,
    /// By limit, of which a request may have several.
    near_misses: u64,
}

impl Sample {
    /// Current sample, if telemetry is on.
    pub(super) fn now<C: Clock>(runtime: &Runtime<C>) -> Option<Self> {
        let telemetry = runtime.telemetry()?;
        let (series, latency) = (telemetry.series(), telemetry.latency());
        let totals = Totals::of(telemetry, &series);
        Some(Self { at_ms: runtime.gate().now_ms(), totals, series, latency })
    }
}

impl Totals {
    pub(super) fn of(telemetry: &Telemetry, series: &[Series]) -> Self {
        let requests = telemetry.requests();
        Self {
            allowed: requests.allowed,
            denied: requests.denied,
            barred: requests.blocked,
            unlimited: requests.unlimited,
            looked: requests.peeked,
            failed: requests.failed,
            replayed: requests.replayed,
            would_deny: requests.would_deny,
            near_misses: series.iter().map(|one| one.enforced.near_misses).sum(),
        }
    }
}
