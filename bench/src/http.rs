//! Services that speak HTTP: one core for each of them in turn, the other for the load.

pub mod answer;
pub mod cases;
pub mod connections;
pub mod contender;
pub mod policy;
pub mod requests;
pub mod server;
pub mod turns;

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds, in each of which everyone has one turn.
    pub rounds: usize,
    /// Requests of a turn.
    pub requests: usize,
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 21, requests: 40_000 };
    /// Fewer and shorter rounds.
    pub const QUICK: Self = Self { rounds: 5, requests: 10_000 };
}
