//! Clients that mean no good, and one that does and waits for its answers.

mod attack;
mod pauses;
mod waits;

pub use attack::{ATTACKS, Attack};
pub use waits::{Client, Waits};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds, in each of which it is measured alone and under attack.
    pub rounds: usize,
    /// Requests of the client that means well, each time.
    pub requests: usize,
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 30, requests: 1_500 };
    /// Fewer and shorter rounds.
    pub const QUICK: Self = Self { rounds: 4, requests: 1_500 };
}
