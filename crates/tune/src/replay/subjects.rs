//! Subjects of a rule: requests, denials, and the demand under every limit.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use slidegate::{Key, Limit};
use smallvec::SmallVec;

use super::demand::{DemandCounter, DemandWindows, Stamps};
use super::touch_bounds::TouchBounds;
use crate::peak::Peak;

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
    /// Where starts are not known to the millisecond.
    pub(super) range: Option<Box<DemandRange>>,
}

/// Other ends of ranges: what is certain of a subject, and what is possible.
#[derive(Debug)]
pub(super) struct DemandRange {
    /// Certain demand, of windows that stamps can resolve.
    pub(super) low: Option<DemandCounter>,
    /// Whether the limit touches the subject, unless that follows from the demand.
    pub(super) touch: Option<TouchBounds>,
}

impl DemandRange {
    /// Range of a subject without requests; `None` where starts are known to the millisecond.
    pub(super) fn new(limit: &Limit, windows: &DemandWindows, stamps: Stamps) -> Option<Box<Self>> {
        (stamps != Stamps::Milliseconds).then(|| {
            let low = windows.low.map(|_| DemandCounter::default());
            Box::new(Self { low, touch: TouchBounds::new(limit) })
        })
    }
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
            demand.range.iter_mut().flat_map(|range| &mut range.low).for_each(DemandCounter::clear);
        }
    }
}

impl SubjectTally {
    /// Demand under a limit, with a new range for its first request.
    #[inline]
    pub(super) fn demand(
        &mut self,
        limit: u16,
        range: impl FnOnce() -> Option<Box<DemandRange>>,
    ) -> &mut SubjectDemand {
        let position = self.demands.iter().position(|demand| demand.limit == limit);
        let index = position.unwrap_or_else(|| {
            let (high, range) = (DemandCounter::default(), range());
            self.demands.push(SubjectDemand { limit, touched: false, high, range });
            self.demands.len() - 1
        });
        &mut self.demands[index]
    }
}

impl SubjectDemand {
    /// Least possible peak, and the largest possible one.
    pub(super) fn peaks(&self) -> (u64, Peak) {
        let high = self.high.peak();
        let least = match &self.range {
            None => high.most(),
            // A window that stamps cannot resolve has one request at least.
            Some(range) => range.low.as_ref().map_or(high.fine.min(1), DemandCounter::most),
        };
        (least, high)
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
