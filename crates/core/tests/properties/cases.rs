//! Seeded cases: how many, from where, and what to print when one fails.
//!
//! `SLIDEGATE_CASES` sets how many cases every property sees, `SLIDEGATE_SEED` where they start. A failure prints the
//! seed with which the case comes first, and the shortest list of steps that still fails.

use std::cell::Cell;
use std::env;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    prove_part(1, generate, holds);
}

/// [`prove`] with one in so many of the cases, where each takes long.
pub(crate) fn prove_part<C: Debug, S: Clone + Debug>(
    part: u64,
    generate: impl Fn(&Rng) -> (C, Vec<S>),
    holds: impl Fn(&C, &[S]) -> Result<(), String>,
) {
    let first = number("SLIDEGATE_SEED").unwrap_or(DEFAULT_SEED);
    for case in 0..number("SLIDEGATE_CASES").unwrap_or(DEFAULT_CASES).div_ceil(part) {
        let seed = first.wrapping_add(case);
        // The seeds are neighbours, so the first number drawn becomes the state.
        let rng = Rng::new(Rng::new(seed).next());
        let (setting, steps) = generate(&rng);
        if let Some(why) = failure(&holds, &setting, &steps) {
            report(seed, &setting, (steps, why), &holds);
        }
    }
}

fn report<C: Debug, S: Clone + Debug>(
    seed: u64,
    setting: &C,
    (mut steps, mut why): (Vec<S>, String),
    holds: &impl Fn(&C, &[S]) -> Result<(), String>,
) -> ! {
    let mut index = steps.len();
    while index > 0 {
        index -= 1;
        let mut fewer = steps.clone();
        fewer.remove(index);
        // What was seen is kept with it: with something random in it, it may not be seen again.
        if let Some(fewer_why) = failure(holds, setting, &fewer) {
            (steps, why) = (fewer, fewer_why);
            index = steps.len().min(index + 1);
        }
    }
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

pub(crate) fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Fails a property with a message that says what was seen.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}
