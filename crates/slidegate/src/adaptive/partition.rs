//! Partitions of an adaptive limit, and what they use of it.

/// Maximum of partitions of one limiter.
pub const MAX_PARTITIONS: usize = 16;

/// Requests with a guaranteed share of the limit.
#[derive(Debug)]
pub(super) struct Partition {
    pub(super) name: Box<str>,
    /// Share in millionths, so that shares add up exactly.
    pub(super) share_ppm: u32,
}

/// Requests of one partition, or of none.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct PartitionCounts {
    pub(super) in_flight: u32,
    pub(super) admitted: u64,
    pub(super) refused: u64,
}

/// Use of an [`AdaptiveLimiter`](super::AdaptiveLimiter) at one moment, for metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct AdaptiveUsage {
    /// Limit in force.
    pub limit: u32,
    /// Requests in flight.
    pub in_flight: u32,
    /// Requests that were admitted since the start.
    pub admitted: u64,
    /// Requests that were refused since the start.
    pub refused: u64,
    /// The same by partition, in the order of the builder. Requests of no partition are in none of
    /// them.
    pub partitions: Vec<PartitionUsage>,
}

/// Part of one partition in an [`AdaptiveUsage`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PartitionUsage {
    /// Name of the partition.
    pub name: Box<str>,
    /// Slots that are guaranteed to it under the limit in force.
    pub guaranteed: u32,
    /// Requests in flight.
    pub in_flight: u32,
    /// Requests that were admitted since the start.
    pub admitted: u64,
    /// Requests that were refused since the start.
    pub refused: u64,
}

impl Partition {
    pub(super) fn new(name: String, share: f64) -> Self {
        Self { name: name.into(), share_ppm: (share * 1e6).round() as u32 }
    }

    /// Slots of its share of a limit.
    pub(super) fn guaranteed(&self, limit: u32) -> u32 {
        let slots = u64::from(limit) * u64::from(self.share_ppm) / 1_000_000;
        (slots as u32).max(u32::from(self.share_ppm > 0))
    }

    pub(super) fn usage(&self, counts: PartitionCounts, limit: u32) -> PartitionUsage {
        let PartitionCounts { in_flight, admitted, refused } = counts;
        let (name, guaranteed) = (self.name.clone(), self.guaranteed(limit));
        PartitionUsage { name, guaranteed, in_flight, admitted, refused }
    }
}
