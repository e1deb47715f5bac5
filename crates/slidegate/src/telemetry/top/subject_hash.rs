//! Identity of a subject in a top list: a hash of its key.

use super::Subject;
use slidegate_store::fingerprint::{Fingerprint, Fingerprints};

/// Half a fingerprint. Among ten million subjects there is one with the same half as a given one once in 10^12 times, and
/// no other half has to be worked out at every denial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SubjectHash(pub(super) u64);

impl SubjectHash {
    #[inline(always)]
    pub(super) fn of(fingerprints: &Fingerprints, subject: &Subject<'_>) -> Self {
        Self(fingerprints.of(subject.naming.space(), subject.key).1)
    }

    /// Which of so many shards is its own.
    #[inline(always)]
    pub(super) fn shard(self, shards: usize) -> usize {
        Fingerprint(self.0, self.0).below(shards)
    }

    /// What tells it from most others of its shard.
    #[inline(always)]
    pub(super) fn tag(self) -> u8 {
        Fingerprint(self.0, self.0).home() as u8
    }
}
