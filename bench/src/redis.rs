//! Our scripts and those of the textbooks against one server, which has a core to itself.

pub mod cases;
pub mod connection;
pub mod library;
pub mod load;
pub mod measured;
pub mod ours;
pub mod population;
pub mod question;
pub mod resp;
pub mod server;
pub mod steady;
pub mod sweep;
pub mod textbook;
pub mod turns;

/// A window that does not end while something is measured.
pub const HOUR_MS: u64 = 3_600_000;

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds of every comparison.
    pub rounds: usize,
    /// Turns per round and keys of which the memory is measured are divided by this.
    pub divisor: u64,
    /// Number of keys in the cases with many keys.
    pub many: u64,
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 15, divisor: 1, many: 1_000_000 };
    /// Fewer and shorter rounds, and fewer keys.
    pub const QUICK: Self = Self { rounds: 3, divisor: 4, many: 100_000 };
}
