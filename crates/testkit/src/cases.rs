//! Seeded cases for properties.
//!
//! `SLIDEGATE_CASES` sets the number of cases per property, `SLIDEGATE_SEED` the seed of the first
//! one. A failure prints the seed of its case and the shortest list of steps that still fails.

use std::cell::Cell;
use std::env;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

const DEFAULT_CASES: u64 = 10_000;
const DEFAULT_SEED: u64 = 0x511D_E6A7E;

/// Random number generator (splitmix64): the same seed always gives the same case.
pub struct Rng(Cell<u64>);

impl Rng {
    /// A generator whose numbers follow from the seed.
    pub fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    /// The next number, of all 64 bits.
    pub fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9E37_79B9_7F4A_7C15));
        let mut mixed = self.0.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Number from 0 up to, not including, `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// Number from `first` to `last`, both included.
    pub fn between(&self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// Number from 1 to `last`; all orders of magnitude are equally likely.
    pub fn magnitude(&self, last: u64) -> u64 {
        let bits = self.between(1, u64::from(last.ilog2()) + 1);
        self.between(1, last.min(u64::MAX >> (64 - bits)))
    }

    /// True once in `n` times on average.
    pub fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// Wait with a liking for edges: none, one, about the window, to the next aligned edge.
    pub fn wait_ms(&self, window_ms: u64, now_ms: u64) -> u64 {
        let edge_ms = window_ms - now_ms % window_ms;
        match self.below(14) {
            0..=3 => 0,
            4..=5 => 1,
            6 => edge_ms,
            7 => edge_ms - 1,
            8 => window_ms - self.below(window_ms.min(2)),
            9 => window_ms + self.below(2),
            10 => self.below(3 * window_ms),
            _ => self.below(window_ms / self.between(1, 8) + 1),
        }
    }

    /// Random element; all are equally likely.
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<T: Copy>(&self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Checks a property with generated cases: a setting, and steps that shrinking may leave out.
///
/// # Panics
/// If the property fails, with the seed of the case and the shortest list of steps that
/// still fails.
pub fn prove<C: Debug, S: Clone + Debug>(
    generate: impl Fn(&Rng) -> (C, Vec<S>),
    holds: impl Fn(&C, &[S]) -> Result<(), String>,
) {
    prove_part(1, generate, holds);
}

/// [`prove`] with the number of cases divided by `part`, for cases that take long.
///
/// # Panics
/// As [`prove`] does.
pub fn prove_part<C: Debug, S: Clone + Debug>(
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
        // The message stays with its steps: a property with something random in it may not fail
        // again.
        if let Some(fewer_why) = failure(holds, setting, &fewer) {
            (steps, why) = (fewer, fewer_why);
            index = steps.len().min(index + 1);
        }
    }
    let steps: String = steps.iter().map(|step| format!("  {step:?}\n")).collect();
    panic!("{why}\n{setting:?}\n{steps}again: SLIDEGATE_SEED={seed} SLIDEGATE_CASES=1");
}

/// The message of a property that fails, with a panic or without.
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

/// The number in an environment variable, if it is set.
///
/// # Panics
/// If its text is not a number.
pub fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Returns an error with a formatted message from a property unless a condition holds.
#[macro_export]
macro_rules! ensure {
    ($holds:expr, $($message:tt)+) => {
        if !$holds {
            return Err(format!($($message)+));
        }
    };
}
