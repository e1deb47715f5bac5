//! Additive increase, multiplicative decrease: the limit falls on a threshold or an overload.

use std::time::Duration;

use super::ConcurrencyBounds;
use super::window::Measurement;

/// Settings of the AIMD algorithm; see [`Adaptive::aimd`](super::Adaptive::aimd).
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    pub(super) threshold: Duration,
    pub(super) backoff: f64,
}

/// Limit for the next window: a part of it after an overload, one more if it was used.
pub(super) fn update(settings: &Aimd, bounds: ConcurrencyBounds, limit: u32, measured: &Measurement) -> u32 {
    let slow = measured.latency_s.is_some_and(|latency_s| latency_s > settings.threshold.as_secs_f64());
    let next = if slow || measured.overload_share > 0.0 {
        (f64::from(limit) * settings.backoff) as u32
    } else if measured.limit_used {
        limit.saturating_add(1)
    } else {
        limit
    };
    bounds.clamp(next)
}
