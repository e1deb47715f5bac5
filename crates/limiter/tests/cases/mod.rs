//! Seeded cases: how many, from where, and what to print when one fails.
//!
//! `SLIDEGATE_CASES` sets how many cases every property sees, `SLIDEGATE_SEED` where they start. A failure prints the
//! seed with which the case comes first, and the shortest list of steps that still fails.
#![allow(dead_code, reason = "every test uses a part of it")]

use std::cell::Cell;
use std::env;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use slidegate::{Kind, Limit, MAX_QUOTA, Resolution};

const DEFAULT_CASES: u64 = 10_000;
const DEFAULT_SEED: u64 = 0x511D_E6A7E;

/// A small generator (splitmix64): the same seed always gives the same case.
pub(crate) struct Rng(Cell<u64>);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut mixed = self.0.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to, not including, `end`.
    pub(crate) fn below(&self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// From `first` to `last`, both included.
    pub(crate) fn between(&self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// From 1 to `last`, every order of magnitude as likely as the next.
    pub(crate) fn magnitude(&self, last: u64) -> u64 {
        let bits = self.between(1, u64::from(last.ilog2()) + 1);
        self.between(1, last.min(u64::MAX >> (64 - bits)))
    }

    pub(crate) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Runs a property over generated cases: a setting, and steps that can be left out while looking for a smaller case.
pub(crate) fn prove<C: Debug, S: Clone + Debug>(
    generate: impl Fn(&Rng) -> (C, Vec<S>),
    holds: impl Fn(&C, &[S]) -> Result<(), String>,
) {
    let first = number("SLIDEGATE_SEED").unwrap_or(DEFAULT_SEED);
    for case in 0..number("SLIDEGATE_CASES").unwrap_or(DEFAULT_CASES) {
        let seed = first.wrapping_add(case);
        // The seeds are neighbours, so the first number drawn becomes the state.
        let rng = Rng::new(Rng::new(seed).next());
        let (setting, steps) = generate(&rng);
        if failure(&holds, &setting, &steps).is_some() {
            report(seed, &setting, steps, &holds);
        }
    }
}

fn report<C: Debug, S: Clone + Debug>(
    seed: u64,
    setting: &C,
    mut steps: Vec<S>,
    holds: &impl Fn(&C, &[S]) -> Result<(), String>,
) -> ! {
    let mut index = steps.len();
    while index > 0 {
        index -= 1;
        let mut fewer = steps.clone();
        fewer.remove(index);
        if failure(holds, setting, &fewer).is_some() {
            steps = fewer;
            index = steps.len().min(index + 1);
        }
    }
    let why = failure(holds, setting, &steps).unwrap_or_default();
    let steps: String = steps.iter().map(|step| format!("  {step:?}\n")).collect();
    panic!("{why}\n{setting:?}\n{steps}again: SLIDEGATE_SEED={seed} SLIDEGATE_CASES=1");
}

/// Why the property does not hold, a panic included.
fn failure<C, S>(
    holds: &impl Fn(&C, &[S]) -> Result<(), String>,
    setting: &C,
    steps: &[S],
) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| holds(setting, steps))) {
        Ok(result) => result.err(),
        Err(_) => Some("panicked".to_owned()),
    }
}

/// A number from the environment.
pub(crate) fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// A limit of any kind: mostly small, where edges meet; sometimes with as many units as 32 bits hold, or more.
pub(crate) fn limit(rng: &Rng) -> Limit {
    let quota = match rng.below(8) {
        0 => rng.magnitude(MAX_QUOTA),
        // What a slot can and cannot hold.
        1 => (1 << 32) - 2 + rng.below(4),
        _ => rng.between(1, 12),
    };
    let window_ms = rng.pick(&[rng.between(1, 40), 1_000, 60_000]);
    let log = || Limit::new(quota, Duration::from_millis(window_ms));
    let built = match rng.below(6) {
        0 => log(),
        1 => {
            let resolution = Resolution::Ms(rng.magnitude(window_ms));
            log().map(|limit| limit.resolution(resolution).unwrap_or(limit))
        }
        2 => log().and_then(Limit::counter),
        3 => log().and_then(Limit::fixed),
        4 => {
            let burst = rng.magnitude((1 << 53) / window_ms).min(quota.saturating_mul(3));
            log().and_then(|limit| limit.gcra(burst))
        }
        _ => Limit::in_flight(quota.min(64), Duration::from_millis(window_ms)),
    };
    let limit = built.unwrap_or_else(|error| panic!("{quota} per {window_ms} ms: {error}"));
    rng.pick(&[limit, limit, limit.named("a"), limit.named("b")])
}

/// The same limit with another quota, where it allows that.
pub(crate) fn with_quota(limit: &Limit, quota: u64) -> Limit {
    let window = Duration::from_millis(limit.window_ms());
    let log = Limit::new(quota, window);
    let changed = match limit.kind() {
        Kind::Log { resolution_ms } => log.and_then(|log| log.resolution(Resolution::Ms(resolution_ms))),
        Kind::Counter => log.and_then(Limit::counter),
        Kind::Fixed => log.and_then(Limit::fixed),
        Kind::Gcra { burst } => log.and_then(|log| log.gcra(burst)),
        Kind::InFlight => Limit::in_flight(quota.min(64), window),
    };
    // The name of a limit cannot be read back, but both can be tried.
    let named = |changed: Limit| {
        let all = [changed, changed.named("a"), changed.named("b")];
        all.into_iter().find(|other| other.id() == limit.id())
    };
    changed.ok().and_then(named).unwrap_or(*limit)
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

/// A wait with a liking for edges: none, one, about the window, to the next aligned edge.
pub(crate) fn wait_ms(rng: &Rng, limit: &Limit, now_ms: u64) -> u64 {
    let window_ms = limit.window_ms();
    let edge_ms = window_ms - now_ms % window_ms;
    match rng.below(14) {
        0..=3 => 0,
        4..=5 => 1,
        6 => edge_ms,
        7 => edge_ms - 1,
        8 => window_ms - rng.below(window_ms.min(2)),
        9 => window_ms + rng.below(2),
        10 => rng.below(3 * window_ms),
        _ => rng.below(window_ms / rng.between(1, 8) + 1),
    }
}
