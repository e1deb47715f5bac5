//! Sample of the telemetry at a moment.

use serde::Serialize;
use slidegate::Clock;
use slidegate::telemetry::{Latency, Series, Telemetry};

use crate::runtime::Runtime;

/// Counts of the telemetry at a moment.
pub(super) struct Sample {
    pub(super) at_ms: u64,
    pub(super) totals: Totals,
    pub(super) lines: Vec<Series>,
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
    /// These are of limits, of which a request may have several.
    near_misses: u64,
}

impl Sample {
    /// Sample of now, if telemetry is on.
    pub(super) fn now<C: Clock>(runtime: &Runtime<C>) -> Option<Self> {
        let observer = runtime.observer()?;
        let (lines, latency) = (observer.series(), observer.latency());
        let totals = Totals::of(observer, &lines);
        Some(Self { at_ms: runtime.gate().now_ms(), totals, lines, latency })
    }
}

impl Totals {
    pub(super) fn of(observer: &Telemetry, lines: &[Series]) -> Self {
        let requests = observer.requests();
        Self {
            allowed: requests.allowed,
            denied: requests.denied,
            barred: requests.barred,
            unlimited: requests.unlimited,
            looked: requests.looked,
            failed: requests.failed,
            replayed: requests.replayed,
            would_deny: requests.would_deny,
            near_misses: lines.iter().map(|line| line.enforced.near_misses).sum(),
        }
    }
}
