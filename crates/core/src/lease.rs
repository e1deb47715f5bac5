//! Leases: parts of a log's quota that nodes hold, and decide within, without asking the store.
//!
//! The units of the log and of all leases together are at most the quota. A node with a lease of n
//! units admits at most n in any window, by a log of its own: units free themselves there after a
//! window, without a call. The store knows how many units each node may hold, not each use.
//!
//! [`LeaseLog`] is the store's side: the log, and a [`LeaseRow`] per node. [`LeaseNode`] is the
//! side of a node. Neither reads a clock. Everything between them may be lost, late, repeated or
//! out of order:
//!
//! - A [`LeaseRequest`] is absolute: it says how much the node holds and wants, never a difference.
//! - Its sequence number grows. The store ignores what is not newer than the row, and the node
//!   ignores every answer but that to its last request.
//! - What a node says it holds is a fact, even if the store has lost its row.
//! - A lease runs from when its request was sent, and its row counts for a window after its end.

mod lease_log;
mod node;
mod rate;
mod target;

pub use lease_log::{LeaseLog, LeaseRow, decide_prepaid};
pub use node::{LeaseDecision, LeaseNode, LeasePhase, LeaseStep, NodeTime};

/// Maximum number of nodes with a lease on one log.
pub const MAX_LEASE_ROWS: usize = 64;
/// Number of groups in which a node reports its uses when it closes a lease.
pub const MAX_LEASE_USES: usize = 8;

/// Request of a node for a lease, or to renew one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseRequest {
    /// Random id of the node's lease, which is used from its first request to its close.
    pub node: u64,
    /// Sequence number, larger than that of any earlier request of this id.
    pub sequence: u64,
    /// Units that it holds: used within the last window, or still to be used without another
    /// answer.
    pub hold: u64,
    /// Units that it would like to hold.
    pub want: u64,
    /// Units per window that its clients ask for, by which a scarce quota is divided.
    pub demand: u64,
    /// Length of the lease, at most the window.
    pub length_ms: u64,
}

/// Answer to a [`LeaseRequest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LeaseReply {
    /// The request was recorded.
    Grant(LeaseGrant),
    /// The request is not newer than the row of the node. Nothing changed.
    Stale,
    /// There are as many rows as there may be. What the node holds counts as used; it has no lease.
    Full {
        /// Sequence number of the request.
        sequence: u64,
    },
}

/// Lease of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseGrant {
    /// Sequence number of the request.
    pub sequence: u64,
    /// Units that the node may use within any window; possibly fewer than it holds.
    pub limit: u64,
    /// Units that are neither used nor on lease.
    pub free: u64,
    /// Epoch of the log, which every reset raises.
    pub epoch: u64,
    /// Time of the answer, by the store's clock.
    pub at_ms: u64,
}

/// Part of a node's uses: units, and how long ago they were used at least.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LeaseUse {
    /// Age.
    pub age_ms: u64,
    /// Units; 0 if there is no such part.
    pub units: u64,
}

/// End of a lease: its units are free again, except those that were used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseClose {
    /// Id of the lease, which is not used any more.
    pub node: u64,
    /// Sequence number, as that of a request.
    pub sequence: u64,
    /// Uses within the last window.
    pub uses: [LeaseUse; MAX_LEASE_USES],
}

/// Units of a lease that a node spends on a charge at the store: on one that needs more than the
/// node has left, or that only the store can decide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Prepayment {
    /// Id of the lease.
    pub node: u64,
    /// Sequence number of the last request of the lease. The prepayment is void if the row has
    /// another.
    pub sequence: u64,
    /// Units, which the node no longer uses itself.
    pub units: u64,
}
