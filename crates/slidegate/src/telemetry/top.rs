//! Space-Saving top-k list of subjects, in bounded memory (Metwally, Agrawal and El Abbadi).
//!
//! A subject that has a place is counted there; one that has none takes the place of the one with the smallest count, and goes on from that
//! count, which is then its error. So a count is never too small, and too large by at most its error; and whoever has no place was counted
//! at most as often as the smallest who has one. The label of a subject that takes a slot is written when it comes again: in a crowd most do not,
//! and are not told of.
//!
//! Subjects are spread over shards by a keyed fingerprint, and counted in epochs, of which the last two are told.

mod guard;
mod label;
mod shard;
mod slot;
mod slots;
mod subject_hash;
mod tags;

use std::cmp::Reverse;
use std::sync::{Arc, OnceLock};

use super::subject_display::{SubjectDisplay, SubjectNaming};
use shard::Shard;
use slidegate_policy::KeyText;
use slidegate_store::Key;
use slidegate_store::fingerprint::Fingerprints;
use slidegate_store::random;
use subject_hash::SubjectHash;
use tags::PLACES;

/// A subject that is to be counted.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The rule's.
    pub naming: &'a Arc<SubjectNaming>,
    /// Key of the subject, under that rule.
    pub key: &'a Key<'a>,
}

/// The subjects that were counted most often in the last five to ten minutes.
#[derive(Debug)]
pub struct Top {
    fingerprints: Fingerprints,
    shards: Box<[Shard]>,
    display: Arc<SubjectDisplay>,
    /// When something was first counted or asked.
    began_ms: OnceLock<u64>,
}

/// What a [`Top`] knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopList {
    /// Most first.
    pub entries: Vec<TopEntry>,
    /// What was counted since then is in the counts, as Unix milliseconds.
    pub since_ms: u64,
    /// Everybody who was counted more often than this is in the list.
    pub bound: u64,
    /// How often anybody was counted.
    pub total: u64,
}

/// A subject of a list, and how often it was counted: at least `count - error` and at most `count` times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopEntry {
    /// The rule's name.
    pub rule: Arc<str>,
    /// Key of the subject, part by part; texts of more than 256 bytes are cut.
    pub subject: Vec<KeyText>,
    /// Whether that is less than all of it, so that nobody can be found by it.
    pub cut: bool,
    /// How often, at most.
    pub count: u64,
    /// How much of that may belong to others.
    pub error: u64,
}

impl Top {
    /// The places of a list, where nothing else is said.
    pub const CAPACITY: usize = 1_024;
    /// How long an epoch lasts. A list is of the one that runs and the one before.
    pub const EPOCH_MS: u64 = 300_000;

    /// With places for so many subjects in each epoch.
    pub fn new(capacity: usize) -> Self {
        let shards = capacity.div_ceil(PLACES).max(1);
        let places = capacity.div_ceil(shards).max(1);
        Self {
            fingerprints: Fingerprints::new(random()),
            shards: (0..shards).map(|_| Shard::new(places)).collect(),
            display: Arc::default(),
            began_ms: OnceLock::new(),
        }
    }

    /// Shows subjects like this, together with whatever else does.
    pub fn displayed_by(self, display: Arc<SubjectDisplay>) -> Self {
        Self { display, ..self }
    }

    /// Counts a subject once.
    #[inline(always)]
    pub fn add(&self, subject: Subject<'_>, now_ms: u64) {
        let hash = SubjectHash::of(&self.fingerprints, &subject);
        let shard = &self.shards[hash.shard(self.shards.len())];
        if !shard.count_at_once(hash, epoch(now_ms)) {
            self.began_ms.get_or_init(|| now_ms);
            shard.count(hash, epoch(now_ms), subject, &self.display);
        }
    }

    /// At most so many of those that were counted most often.
    pub fn list(&self, most: usize, now_ms: u64) -> TopList {
        let epoch = epoch(now_ms);
        let since_ms = *self.began_ms.get_or_init(|| now_ms);
        let mut list = TopList { entries: Vec::new(), since_ms, bound: 0, total: 0 };
        let mut found = Vec::new();
        for shard in &self.shards {
            let info = shard.most(most, epoch);
            list.since_ms = list.since_ms.max(u64::from(info.epoch.saturating_sub(1)) * Self::EPOCH_MS);
            list.bound = list.bound.max(info.bound);
            list.total += info.total;
            found.extend(info.entries);
        }
        found.sort_unstable_by_key(|entry| (Reverse(entry.count), entry.error, entry.hash));
        // Whoever is left out was counted at most as often as it says.
        list.bound = list.bound.max(found.get(most).map_or(0, |entry| entry.count));
        found.truncate(most);
        let render = found.into_iter().map(|entry| TopEntry {
            rule: Arc::clone(entry.label.rule()),
            subject: entry.label.render(&self.display),
            cut: entry.label.is_cut(&self.display),
            count: entry.count,
            error: entry.error,
        });
        list.entries.extend(render);
        list
    }
}

/// The number of the epoch at this time.
#[inline(always)]
fn epoch(now_ms: u64) -> u32 {
    u32::try_from(now_ms / Top::EPOCH_MS).unwrap_or(u32::MAX)
}

impl Default for Top {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}
