//! Clients that mean no good, as many that do, and one that waits for its answers.

mod crowd;
mod pauses;
mod plans;
mod protocols;
mod server;
mod waits;

pub use crowd::Crowd;
pub use plans::{Plan, Trial, trials};
pub use protocols::{PROTOCOLS, Protocol};
pub use server::serve;
pub use waits::{Client, Waits};

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds, in each of which it is measured in good company and under attack.
    pub rounds: usize,
    /// Requests of the client that waits, each time.
    pub requests: usize,
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 10, requests: 1_500 };
    /// Fewer and shorter rounds.
    pub const QUICK: Self = Self { rounds: 2, requests: 1_000 };
}
