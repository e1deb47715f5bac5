//! Identity of a subject in a top list: a hash of its key.

use super::Subject;
use slidegate_store::fingerprint::{Fingerprint, Fingerprints};

/// Half a fingerprint. Among ten million subjects, the half of a given one occurs again with a
/// probability of 10^-12, and the other half is not computed at every denial.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct SubjectHash(pub(super) u64);

impl SubjectHash {
    #[inline(always)]
    pub(super) fn of(fingerprints: &Fingerprints, subject: &Subject<'_>) -> Self {
        Self(fingerprints.of(subject.naming.space(), subject.key).1)
    }

    /// Index of its shard, of this many.
    #[inline(always)]
    pub(super) fn shard(self, shards: usize) -> usize {
        Fingerprint(self.0, self.0).below(shards)
    }

    /// Byte that distinguishes it from most others of its shard.
    #[inline(always)]
    pub(super) fn tag(self) -> u8 {
        Fingerprint(self.0, self.0).home() as u8
    }
}
