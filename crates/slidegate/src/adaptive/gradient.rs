//! Gradient algorithm: the limit follows the ratio of the latency without a queue to the measured
//! latency.
//!
//! It is the idea of Gradient2 in Netflix's concurrency-limits with one difference. There the
//! latency without a queue is a long average of all latencies, so under a lasting overload it
//! drifts up, and the limit with it. Here it is learned only where no queue can hide in it: in
//! windows that do not use the limit, and in probes. A probe lowers the limit for two windows. If
//! the latency falls with it, there was a queue; if it stays, requests take that long by
//! themselves.

use super::Bounds;
use super::window::Measurement;

/// Windows that use the limit between two probes.
const PROBE_INTERVAL: u32 = 20;

/// Windows by which one of a shrinking limit counts towards the next probe: if the limit shrinks by
/// mistake, it should not do so for long.
const SHRINKING_WINDOWS: u32 = 4;

/// Windows before the first probe, and after one that found a queue in the baseline.
const EARLY_PROBE: u32 = 2;

/// Part of the limit that a probe leaves, at most.
const PROBE_RATIO: f64 = 0.8;

/// Part of the baseline below which the latency of a probe proves that the baseline has a queue.
const HIDDEN_QUEUE: f64 = 0.9;

/// Weight of a probe in the baseline.
const PROBE_WEIGHT: f64 = 0.5;

/// Weight of a window that does not use the limit in the baseline.
const IDLE_WEIGHT: f64 = 0.1;

/// Lowest gradient, so that one window of outliers does not take most of the limit.
const MIN_GRADIENT: f64 = 0.5;

/// Part by which a limit without a queue grows in one window.
const GROWTH: f64 = 0.05;

/// Latency that stands for those too short to measure.
const MIN_LATENCY_S: f64 = 1e-9;

/// Settings of the gradient algorithm; [`Adaptive::gradient`](super::Adaptive::gradient) creates
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    pub(super) tolerance: f64,
    pub(super) queue: u32,
    pub(super) smoothing: f64,
}

/// State of the gradient algorithm.
#[derive(Debug)]
pub(super) struct GradientState {
    settings: Gradient,
    bounds: Bounds,
    /// Limit as a fraction, without the reduction of a probe.
    estimate: f64,
    /// Latency without a queue, as far as it is known.
    baseline_s: Option<f64>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The limit follows the gradient.
    Follow { windows_to_probe: u32 },
    /// The limit is reduced, and requests of before are still queued.
    Drain(Probe),
    /// The limit is reduced, and latencies show it.
    Measure(Probe),
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    limit: f64,
    latency_before_s: f64,
}

impl GradientState {
    pub(super) fn new(settings: Gradient, bounds: Bounds, initial: u32) -> Self {
        let phase = Phase::Follow { windows_to_probe: EARLY_PROBE };
        Self { settings, bounds, estimate: f64::from(initial), baseline_s: None, phase }
    }

    /// Limit for the next window.
    pub(super) fn update(&mut self, measured: &Measurement) -> u32 {
        let latency_s = measured.latency_s.or(self.baseline_s).unwrap_or(0.0).max(MIN_LATENCY_S);
        let baseline_s = *self.baseline_s.get_or_insert(latency_s);
        self.phase = match self.phase {
            Phase::Drain(probe) => Phase::Measure(probe),
            Phase::Measure(probe) => self.judge(probe, baseline_s, latency_s),
            Phase::Follow { .. } if !measured.limit_used => {
                self.learn(IDLE_WEIGHT, latency_s);
                Phase::Follow { windows_to_probe: PROBE_INTERVAL }
            }
            Phase::Follow { windows_to_probe } => {
                let gradient = self.settings.tolerance * baseline_s / latency_s;
                let gradient = gradient.min(1.0 - measured.overload_share).clamp(MIN_GRADIENT, 1.0);
                self.follow(gradient, latency_s / baseline_s);
                self.next_phase(windows_to_probe, gradient, latency_s)
            }
        };
        let limit = match self.phase {
            Phase::Follow { .. } => self.estimate,
            Phase::Drain(probe) | Phase::Measure(probe) => probe.limit,
        };
        self.bounds.clamp(limit as u32)
    }

    /// Moves the estimate: down with the gradient, or up by as much as latency is below tolerance.
    fn follow(&mut self, gradient: f64, latency_ratio: f64) {
        let Gradient { tolerance, queue, smoothing } = self.settings;
        let change = if gradient < 1.0 {
            smoothing * (gradient - 1.0) * self.estimate
        } else {
            let slack = ((tolerance - latency_ratio) / (tolerance - 1.0)).min(1.0);
            slack * f64::from(queue).max(GROWTH * self.estimate)
        };
        self.estimate = (self.estimate + change).clamp(self.bounds.min.into(), self.bounds.max.into());
    }

    fn next_phase(&mut self, windows_to_probe: u32, gradient: f64, latency_s: f64) -> Phase {
        let limit = (self.estimate * PROBE_RATIO.min(gradient)).max(self.bounds.min.into());
        if limit >= self.estimate {
            // The lowest limit leaves no space for a probe: what it measures is the best there is.
            self.learn(IDLE_WEIGHT, latency_s);
            return Phase::Follow { windows_to_probe };
        }
        if windows_to_probe == 0 {
            return Phase::Drain(Probe { limit, latency_before_s: latency_s });
        }
        let windows = if gradient < 1.0 { SHRINKING_WINDOWS } else { 1 };
        Phase::Follow { windows_to_probe: windows_to_probe.saturating_sub(windows) }
    }

    /// Learns from a probe. A queue shrinks with the limit and takes the latency along; a latency
    /// that stays has another cause and belongs to the baseline.
    fn judge(&mut self, probe: Probe, baseline_s: f64, latency_s: f64) -> Phase {
        if latency_s < HIDDEN_QUEUE * baseline_s {
            self.baseline_s = Some(latency_s);
            self.estimate = probe.limit;
            return Phase::Follow { windows_to_probe: EARLY_PROBE };
        }
        let half_way = (1.0 + probe.limit / self.estimate) / 2.0;
        if latency_s < baseline_s || latency_s > half_way * probe.latency_before_s {
            self.learn(PROBE_WEIGHT, latency_s);
        }
        Phase::Follow { windows_to_probe: PROBE_INTERVAL }
    }

    fn learn(&mut self, weight: f64, latency_s: f64) {
        let baseline_s = self.baseline_s.unwrap_or(latency_s);
        self.baseline_s = Some(baseline_s + weight * (latency_s - baseline_s));
    }
}
