//! Contenders: one file for each, behind one trait.

use crate::workload::{Arrivals, Keys};

pub mod governor;
pub mod limitador;
pub mod textbook;
pub mod throttlecrab;

/// A quota that no measurement reaches.
pub const AMPLE: u32 = 1_000_000_000;
/// A quota that is used up at once: two, because throttlecrab never denies at one.
pub const SCANT: u32 = 2;
/// The window of the scant quota: nothing becomes free while measuring.
pub const DAY_S: u32 = 86_400;

/// Something that decides about keys.
///
/// Contender. It decides a whole stretch of keys per call, so that its loop is compiled for it and
/// no dynamic call is measured.
pub trait Contender: Sync {
    /// Name in the tables.
    fn name(&self) -> &'static str;

    /// Decides every arrival in turn; gives how many were let through.
    fn run(&self, keys: Keys<'_>) -> usize;

    /// The same when no other thread asks: who needs no lock then does not have to take one.
    fn run_alone(&mut self, keys: Keys<'_>) -> usize {
        self.run(keys)
    }

    /// Panics if what was measured is not what was meant.
    fn check(&self) {}

    /// Gets one in so many of the arrivals of a slice: for those that would take most of the time.
    fn parts(&self) -> usize {
        1
    }
}

/// Answer that a contender is set up for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Everything is let through.
    Allowed,
    /// Every request is denied.
    Denied,
}

impl Answer {
    /// Number of visits of a key until the answer is this one.
    fn visits(self) -> usize {
        match self {
            Self::Allowed => 1,
            Self::Denied => SCANT as usize,
        }
    }
}

/// Window of the ample quota in seconds. Where every key comes often it is short, so that windows
/// end and entries leave during the measurement; where keys come rarely it is long, so that no key
/// is dropped in between.
pub fn ample_window_s(keys: u64) -> u32 {
    if keys <= 1_000 { 1 } else { 3_600 }
}

/// Lets every key come until it is known and the answer is settled.
pub fn fill(contender: &mut dyn Contender, keys: u64, answer: Answer) {
    const CHUNK: usize = 100_000;
    for start in (0..keys).step_by(CHUNK) {
        let arrivals = Arrivals::each(start..keys.min(start + CHUNK as u64), answer.visits());
        contender.run_alone(arrivals.all());
    }
}
