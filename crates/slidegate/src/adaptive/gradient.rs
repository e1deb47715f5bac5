//! Gradient algorithm: the limit follows the ratio of the latency without a queue to the measured
//! latency.
//!
//! It is the idea of Gradient2 in Netflix's concurrency-limits with one difference. There the
//! latency without a queue is a long average of all latencies, so under a lasting overload it
//! drifts up, and the limit with it. Here it is learned only where no queue can hide in it: in
//! windows that do not use the limit, and in probes. A probe lowers the limit for a window. If the
//! latency falls with it, there was a queue; if it stays, requests take that long by themselves.

use super::ConcurrencyBounds;
use super::window::Measurement;

/// Windows that reach the limit between two probes.
const PROBE_INTERVAL: u32 = 20;

/// Windows before the next probe, if the last one was not clear.
const EARLY_PROBE: u32 = 2;

/// Windows by which one of a shrinking limit counts towards the next probe: if the limit shrinks by
/// mistake, it should not do so for long.
const SHRINKING_WINDOWS: u32 = 4;

/// Part of the limit that a probe leaves.
const PROBE_RATIO: f64 = 0.75;

/// Part of the limit that a probe leaves while the latency without a queue is unknown.
const SEARCH_RATIO: f64 = 0.5;

/// Excess of the latency over tolerance at which a probe finds out the cause at once.
const JUMP: f64 = 1.3;

/// Elasticity of latency, as the limit changes, from which on it is that of a queue: 1 is that of a
/// queue, 0 that of requests which do not wait for each other.
const QUEUE_ELASTICITY: f64 = 0.5;

/// Distance from [`QUEUE_ELASTICITY`] within which a probe is not clear.
const UNCLEAR_ELASTICITY: f64 = 0.25;

/// Part of the baseline below which a latency proves that the baseline has a queue.
const HIDDEN_QUEUE: f64 = 0.85;

/// Weight of a probe in the baseline.
const PROBE_WEIGHT: f64 = 0.5;

/// Weight of a window that does not use the limit in the baseline.
const IDLE_WEIGHT: f64 = 0.1;

/// Lowest gradient, so that one window of outliers does not take most of the limit.
const MIN_GRADIENT: f64 = 0.5;

/// Part by which a limit without a queue grows in one window, at least.
const GROWTH: f64 = 0.05;

/// Least growth in one window, in requests: limits below five grow by more than [`GROWTH`].
const MIN_GROWTH: f64 = 0.25;

/// Part by which it grows at first, and at most.
const MAX_GROWTH: f64 = 0.5;

/// Growth from which on latency above tolerance calls for a probe after the next window: only a
/// queue ends such growth, and only a probe that is clear shows one.
const QUICK_GROWTH: f64 = 0.2;

/// Factor of the growth after a window without a queue.
const ACCELERATION: f64 = 1.15;

/// Factor of the growth after a window that looks like one with a queue. A limit that is right has
/// one in three of them, one that is too low one in eight.
const DECELERATION: f64 = 0.75;

/// Latency that stands for those too short to measure.
const MIN_LATENCY_S: f64 = 1e-9;

/// Settings of the gradient algorithm; [`Adaptive::gradient`](super::Adaptive::gradient) creates
/// it.
#[derive(Clone, Copy, Debug)]
pub struct Gradient {
    pub(super) tolerance: f64,
    pub(super) smoothing: f64,
}

/// State of the gradient algorithm.
#[derive(Debug)]
pub(super) struct GradientState {
    settings: Gradient,
    bounds: ConcurrencyBounds,
    /// Limit as a fraction, without the reduction of a probe.
    estimate: f64,
    /// Latency without a queue, as far as it is known.
    baseline_s: Option<f64>,
    /// Part by which the limit grows.
    growth: f64,
    phase: GradientPhase,
}

#[derive(Clone, Copy, Debug)]
enum GradientPhase {
    /// The limit follows the gradient.
    Follow { windows_to_probe: u32 },
    /// The limit is reduced, to compare latencies.
    Probe(Probe),
}

/// Limit of a probe, and what was measured before.
#[derive(Clone, Copy, Debug)]
struct Probe {
    limit: u32,
    limit_before: u32,
    latency_before_s: f64,
}

impl Probe {
    /// Elasticity of latency: its change relative to that of the limit, both as logarithms.
    fn elasticity(&self, latency_s: f64) -> f64 {
        let limits = f64::from(self.limit_before) / f64::from(self.limit);
        (self.latency_before_s / latency_s).ln() / limits.ln()
    }
}

impl GradientState {
    pub(super) fn new(settings: Gradient, bounds: ConcurrencyBounds, initial: u32) -> Self {
        let phase = GradientPhase::Follow { windows_to_probe: 0 };
        let estimate = f64::from(initial);
        Self { settings, bounds, estimate, baseline_s: None, growth: MAX_GROWTH, phase }
    }

    /// Limit for the next window.
    pub(super) fn update(&mut self, measured: &Measurement) -> u32 {
        self.phase = match measured.latency_s {
            Some(latency_s) => self.next_phase(measured, latency_s.max(MIN_LATENCY_S)),
            None => {
                self.growth = GROWTH;
                self.shrink((1.0 - measured.overload_share).max(MIN_GRADIENT));
                GradientPhase::Follow { windows_to_probe: PROBE_INTERVAL }
            }
        };
        match self.phase {
            GradientPhase::Follow { .. } => self.bounds.whole(self.estimate),
            GradientPhase::Probe(probe) => probe.limit,
        }
    }

    fn next_phase(&mut self, measured: &Measurement, latency_s: f64) -> GradientPhase {
        let Some(baseline_s) = self.baseline_s else {
            self.baseline_s = Some(latency_s);
            let probe = self.probe(SEARCH_RATIO, latency_s).filter(|_| measured.limit_reached);
            return probe.unwrap_or(GradientPhase::Follow { windows_to_probe: EARLY_PROBE });
        };
        match self.phase {
            GradientPhase::Probe(probe) => self.judge(probe, baseline_s, latency_s),
            GradientPhase::Follow { .. } if !measured.limit_used => {
                self.learn(IDLE_WEIGHT, latency_s);
                GradientPhase::Follow { windows_to_probe: PROBE_INTERVAL }
            }
            GradientPhase::Follow { windows_to_probe } => {
                let excess = latency_s / baseline_s / self.settings.tolerance;
                let is_knee = self.growth > QUICK_GROWTH && excess > 1.0;
                let is_due = measured.limit_reached && windows_to_probe == 0;
                if is_knee && measured.limit_reached && !is_due && excess <= JUMP {
                    // Chance makes a window long too. The probe compares the next one.
                    return GradientPhase::Follow { windows_to_probe: 0 };
                }
                let ratio = PROBE_RATIO.min(1.0 / excess).max(MIN_GRADIENT);
                let probe = self.probe(ratio, latency_s).filter(|_| is_due || excess > JUMP);
                probe.unwrap_or_else(|| {
                    let windows = self.follow(measured, baseline_s, latency_s);
                    GradientPhase::Follow { windows_to_probe: windows_to_probe.saturating_sub(windows) }
                })
            }
        }
    }

    /// Moves the estimate: down with the gradient, or up by as much as latency is below tolerance.
    /// Returns the windows by which the next probe comes closer.
    fn follow(&mut self, measured: &Measurement, baseline_s: f64, latency_s: f64) -> u32 {
        let tolerance = self.settings.tolerance;
        let ratio = latency_s / baseline_s;
        if ratio < HIDDEN_QUEUE || self.bounds.whole(self.estimate) == self.bounds.min {
            // What the lowest limit leaves is the best there is.
            self.learn(IDLE_WEIGHT, latency_s);
        }
        let gradient = (tolerance / ratio).min(1.0 - measured.overload_share).clamp(MIN_GRADIENT, 1.0);
        if gradient < 1.0 {
            let is_overload = measured.overload_share > 0.0;
            self.growth = if is_overload { GROWTH } else { GROWTH.max(self.growth * DECELERATION) };
            self.shrink(gradient);
            return SHRINKING_WINDOWS;
        }
        let slack = ((tolerance - ratio) / (tolerance - 1.0)).min(1.0);
        self.set(self.estimate + slack * MIN_GROWTH.max(self.growth * self.estimate));
        self.growth = MAX_GROWTH.min(self.growth * ACCELERATION);
        1
    }

    fn shrink(&mut self, gradient: f64) {
        self.set(self.estimate * (1.0 + self.settings.smoothing * (gradient - 1.0)));
    }

    /// Probe with a part of the limit. `None` if the lowest limit leaves no space for it.
    fn probe(&self, ratio: f64, latency_before_s: f64) -> Option<GradientPhase> {
        let limit_before = self.bounds.whole(self.estimate);
        let limit = self.bounds.whole(self.estimate * ratio);
        let probe = Probe { limit, limit_before, latency_before_s };
        (limit < limit_before).then_some(GradientPhase::Probe(probe))
    }

    /// Learns from a probe. A queue shrinks with the limit and takes the latency along; a latency
    /// that stays has another cause and belongs to the baseline.
    fn judge(&mut self, probe: Probe, baseline_s: f64, latency_s: f64) -> GradientPhase {
        let elasticity = probe.elasticity(latency_s);
        let is_clear = (elasticity - QUEUE_ELASTICITY).abs() > UNCLEAR_ELASTICITY;
        let ratio = latency_s / baseline_s;
        if elasticity < QUEUE_ELASTICITY {
            let is_new = is_clear && !(HIDDEN_QUEUE..=JUMP).contains(&ratio);
            self.learn(if is_new { 1.0 } else { PROBE_WEIGHT }, latency_s);
            let windows_to_probe = if is_clear && !is_new { PROBE_INTERVAL } else { EARLY_PROBE };
            return GradientPhase::Follow { windows_to_probe };
        }
        if !is_clear && self.growth > QUICK_GROWTH {
            // An end of quick growth by mistake takes many windows to make up for: compare again.
            return GradientPhase::Follow { windows_to_probe: 0 };
        }
        self.growth = GROWTH;
        let capacity = f64::from(probe.limit_before) * latency_s / probe.latency_before_s;
        self.set(self.estimate.min(self.settings.tolerance * capacity));
        self.learn(if ratio < HIDDEN_QUEUE { 1.0 } else { PROBE_WEIGHT }, latency_s.min(baseline_s));
        let hidden = self.probe(SEARCH_RATIO, latency_s).filter(|_| ratio < HIDDEN_QUEUE);
        let windows_to_probe = if is_clear { PROBE_INTERVAL } else { EARLY_PROBE };
        hidden.unwrap_or(GradientPhase::Follow { windows_to_probe })
    }

    fn learn(&mut self, weight: f64, latency_s: f64) {
        let baseline_s = self.baseline_s.unwrap_or(latency_s);
        self.baseline_s = Some(baseline_s + weight * (latency_s - baseline_s));
    }

    fn set(&mut self, estimate: f64) {
        self.estimate = estimate.clamp(self.bounds.min.into(), self.bounds.max.into());
    }
}
