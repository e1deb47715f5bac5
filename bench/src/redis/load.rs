//! Load: connections and requests in flight.

use super::connection::Connection;
use super::server::Server;

/// Requests in flight on a connection: what a pipeline holds, and what a call of ours coalesces.
pub const IN_FLIGHT: usize = 16;

/// Domain.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Number of subjects of a turn.
    pub subjects: u64,
    /// Turns per round.
    pub turns: usize,
    /// Connections over which that is done.
    pub connections: usize,
    /// Requests in flight on each.
    pub in_flight: usize,
}

impl Load {
    /// Several pipelines, so that the server never has to wait for the next one: waiting costs it
    /// more than a PING.
    pub const PIPELINED: Self = Self { subjects: 2048, turns: 4, connections: 4, in_flight: IN_FLIGHT };
    /// The same for quotas in the thousands, which take long to fill: as many decisions, in shorter
    /// turns.
    pub const LARGE_QUOTA: Self = Self { subjects: 512, turns: 16, ..Self::PIPELINED };
    /// A single node with as many requests in flight as a call of ours coalesces.
    pub const ONE_NODE: Self = Self { subjects: 160, turns: 48, connections: 1, in_flight: IN_FLIGHT };
    /// One request at a time.
    pub const ONE_BY_ONE: Self = Self { subjects: 32, turns: 40, connections: 1, in_flight: 1 };

    /// Connects all its connections.
    pub fn connect(&self, server: &Server) -> Vec<Connection> {
        (0..self.connections).map(|_| server.connect()).collect()
    }
}
