//! Limits, and what may happen to a key under them, generated with an eye on edges.

use std::time::Duration;

use slidegate_core::{Limit, MAX_QUOTA, MAX_WINDOW_MS, Resolution};
use slidegate_testkit::cases::Rng;

pub(crate) const DAY_MS: u64 = 86_400_000;
pub(crate) const YEAR_MS: u64 = 365 * DAY_MS;

/// The kinds of limits, as something to choose from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    Log,
    Counter,
    Fixed,
    Gcra,
    InFlight,
}

pub(crate) const ALL: [Of; 5] = [Of::Log, Of::Counter, Of::Fixed, Of::Gcra, Of::InFlight];

/// What happens next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// Time passes and a cost is asked for.
    Check { after_ms: u64, cost: u64 },
    /// The clock steps.
    Clock { by_ms: i64 },
    /// One of the admissions so far is settled; 0 is a refund.
    Settle { of: usize, cost: u64 },
    /// Units are given back without a permit.
    GiveBack { units: u64 },
    /// The limit changes to this quota.
    Quota(u64),
    /// The log changes to slots of this length.
    Resolution(u64),
    /// The meter changes to this burst.
    Burst(u64),
}

/// A limit: mostly small, where edges meet, sometimes as large as they get.
pub(crate) fn limit(rng: &Rng, of: Of) -> Limit {
    let large = rng.one_in(4);
    let quota = if large { rng.magnitude(MAX_QUOTA) } else { rng.between(1, 12) };
    let window_ms = if large { rng.magnitude(MAX_WINDOW_MS) } else { rng.between(1, 40) };
    build(rng, of, quota, window_ms)
}

/// A limit with few units and a short window.
pub(crate) fn small_limit(rng: &Rng, of: Of) -> Limit {
    let (quota, window_ms) = (rng.between(1, 12), rng.between(1, 40));
    build(rng, of, quota, window_ms)
}

fn build(rng: &Rng, of: Of, quota: u64, window_ms: u64) -> Limit {
    let log = |window_ms| Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
    let built = match of {
        Of::Log => {
            let limit = log(window_ms);
            return rng.pick(&[resolution(rng, &limit), limit]);
        }
        Of::Counter if window_ms > DAY_MS => log(window_ms / 1_000 * 1_000).counter(),
        Of::Counter => log(window_ms).counter(),
        Of::Fixed => log(window_ms).fixed(),
        Of::Gcra => log(window_ms).gcra(rng.magnitude((1 << 53) / window_ms).min(3 * quota).min(MAX_QUOTA)),
        Of::InFlight => Limit::in_flight(quota.min(65_536), Duration::from_millis(window_ms)),
    };
    built.unwrap_or_else(|error| panic!("{of:?} of {quota} per {window_ms} ms: {error}"))
}

/// The same log with slots of another length, as fine as its number of entries allows.
pub(crate) fn resolution(rng: &Rng, limit: &Limit) -> Limit {
    let wanted = [1, rng.magnitude(limit.window_ms()), rng.between(1, limit.window_ms())];
    let resolution = Resolution::Ms(rng.pick(&wanted));
    limit.resolution(resolution).unwrap_or(*limit)
}

/// A time to begin at: the epoch, the first windows, or these days.
pub(crate) fn start_ms(rng: &Rng, limit: &Limit) -> u64 {
    let today = 1_745_000_000_000 + rng.below(limit.window_ms());
    rng.pick(&[0, rng.below(3 * limit.window_ms()), today, today])
}

/// A wait with a liking for the edges of the limit's windows.
pub(crate) fn wait_ms(rng: &Rng, limit: &Limit, now_ms: u64) -> u64 {
    rng.wait_ms(limit.window_ms(), now_ms)
}

/// A cost with a liking for one unit, all of them, and one too many.
pub(crate) fn cost(rng: &Rng, limit: &Limit) -> u64 {
    let ceiling = limit.ceiling();
    match rng.below(12) {
        0 => 0,
        1 => ceiling,
        2 => ceiling + 1,
        3..=4 => rng.between(1, ceiling),
        5..=6 => rng.magnitude(ceiling),
        7 => ceiling.div_ceil(2),
        _ => 1,
    }
}

/// A step of the clock, from a millisecond to a year, mostly about the window.
pub(crate) fn clock_step_ms(rng: &Rng, limit: &Limit) -> u64 {
    let window_ms = limit.window_ms();
    let about = window_ms - 1 + rng.below(3);
    rng.pick(&[1, rng.between(1, window_ms), about, rng.between(1, 4 * window_ms), YEAR_MS])
}

/// What else than checks may happen in a trace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Extra {
    StepBack,
    StepForward,
    Settle,
    GiveBack,
    Quota,
    Resolution,
    Burst,
}

/// Up to 35 steps: checks, and between them what else may happen.
fn steps(rng: &Rng, limit: &Limit, start_ms: u64, extras: &[Extra]) -> Vec<Step> {
    let mut now_ms = start_ms;
    let mut steps = Vec::new();
    for _ in 0..rng.between(1, 35) {
        steps.push(if !extras.is_empty() && rng.one_in(4) {
            extra(rng, limit, extras)
        } else {
            let after_ms = wait_ms(rng, limit, now_ms);
            now_ms += after_ms;
            Step::Check { after_ms, cost: cost(rng, limit) }
        });
    }
    steps
}

fn extra(rng: &Rng, limit: &Limit, extras: &[Extra]) -> Step {
    match rng.pick(extras) {
        Extra::StepBack => Step::Clock { by_ms: -(clock_step_ms(rng, limit) as i64) },
        Extra::StepForward => Step::Clock { by_ms: clock_step_ms(rng, limit) as i64 },
        Extra::Settle => {
            // Debts add up far below the sum at which they end.
            let debt = rng.below((2 * limit.ceiling()).min(1 << 46));
            let cost = rng.pick(&[0, 0, 1, debt]);
            Step::Settle { of: rng.below(64) as usize, cost }
        }
        Extra::GiveBack => Step::GiveBack { units: rng.pick(&[cost(rng, limit), 3, u64::MAX]) },
        Extra::Quota => Step::Quota(rng.between(1, 2 * limit.quota())),
        Extra::Resolution => Step::Resolution(resolution(rng, limit).resolution_ms()),
        Extra::Burst => Step::Burst(rng.between(1, 2 * limit.ceiling())),
    }
}

/// A limit of a kind and a start, and what happens from there.
pub(crate) type Trace = ((Limit, u64), Vec<Step>);

/// A trace under a limit that may be as large as they get.
pub(crate) fn trace(rng: &Rng, of: Of, extras: &[Extra]) -> Trace {
    under(rng, limit(rng, of), extras)
}

/// A trace under a small limit.
pub(crate) fn small_trace(rng: &Rng, of: Of, extras: &[Extra]) -> Trace {
    under(rng, small_limit(rng, of), extras)
}

fn under(rng: &Rng, limit: Limit, extras: &[Extra]) -> Trace {
    let start_ms = start_ms(rng, &limit);
    ((limit, start_ms), steps(rng, &limit, start_ms, extras))
}
