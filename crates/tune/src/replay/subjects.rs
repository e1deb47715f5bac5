//! Subjects of a rule: requests, denials, and the demand under every limit.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use slidegate::Key;
use smallvec::SmallVec;

use super::demand::{DemandCounter, Stamps};

/// Subjects of a rule by the hash of their key, 64 bits under a random seed: that two of ten
/// million subjects share one has a probability of one in 370,000.
#[derive(Debug)]
pub(super) struct SubjectTable {
    hashes: RandomState,
    by_hash: HashMap<u64, SubjectTally, BuildHasherDefault<SameHash>>,
    /// Requests of subjects beyond the bound.
    uncounted: u64,
}

/// Counts of a subject.
#[derive(Debug, Default)]
pub(super) struct SubjectTally {
    pub(super) requests: u32,
    pub(super) denied: u32,
    pub(super) last_ms: u64,
    pub(super) demands: SmallVec<[SubjectDemand; 1]>,
}

/// Demand of a subject under a limit.
#[derive(Debug)]
pub(super) struct SubjectDemand {
    /// Index of the limit in its rule.
    pub(super) limit: u16,
    /// Whether the limit denied it something, or would.
    pub(super) touched: bool,
    pub(super) high: DemandCounter,
    pub(super) low: Option<Box<DemandCounter>>,
}

impl SubjectTable {
    pub(super) fn new() -> Self {
        Self { hashes: RandomState::new(), by_hash: HashMap::default(), uncounted: 0 }
    }

    /// Hash of a key.
    #[inline]
    pub(super) fn hash(&self, key: &Key<'_>) -> u64 {
        let mut hasher = self.hashes.build_hasher();
        hasher.write_u8(key.form() as u8);
        hasher.write(key.bytes());
        hasher.finish()
    }

    /// Counts of a subject. `None`, and the request is counted as such, if it is beyond the bound.
    #[inline]
    pub(super) fn tally(&mut self, hash: u64, max_subjects: usize) -> Option<&mut SubjectTally> {
        if self.by_hash.len() >= max_subjects && !self.by_hash.contains_key(&hash) {
            self.uncounted += 1;
            return None;
        }
        Some(self.by_hash.entry(hash).or_default())
    }

    /// Counts of a subject, if it has any.
    pub(super) fn get(&self, hash: u64) -> Option<&SubjectTally> {
        self.by_hash.get(&hash)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SubjectTally> {
        self.by_hash.values()
    }

    pub(super) fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Requests of subjects beyond the bound.
    pub(super) fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Frees what subjects without a request for so long have in their windows.
    pub(super) fn clear_idle(&mut self, now_ms: u64, idle_ms: u64) {
        let is_idle = |tally: &&mut SubjectTally| now_ms.saturating_sub(tally.last_ms) > idle_ms;
        let idle = self.by_hash.values_mut().filter(is_idle);
        for demand in idle.flat_map(|tally| &mut tally.demands) {
            demand.high.clear();
            demand.low.iter_mut().for_each(|low| low.clear());
        }
    }
}

impl SubjectTally {
    /// Demand under a limit.
    #[inline]
    pub(super) fn demand(&mut self, limit: u16, has_low: bool) -> &mut SubjectDemand {
        let position = self.demands.iter().position(|demand| demand.limit == limit);
        let index = position.unwrap_or_else(|| {
            let low = has_low.then(Box::default);
            self.demands.push(SubjectDemand { limit, touched: false, high: DemandCounter::default(), low });
            self.demands.len() - 1
        });
        &mut self.demands[index]
    }
}

impl SubjectDemand {
    /// Least and largest possible peak.
    pub(super) fn range(&self, stamps: Stamps) -> (u64, u64) {
        let most = self.high.most();
        match &self.low {
            Some(low) => (low.most(), most),
            None if stamps == Stamps::Milliseconds => (most, most),
            // A window that stamps cannot resolve has one request at least.
            None => (most.min(1), most),
        }
    }
}

/// Hasher of numbers that are hashes already.
#[derive(Default)]
pub(super) struct SameHash(u64);

impl Hasher for SameHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
