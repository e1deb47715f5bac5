//! Space-Saving top-k list of subjects, in bounded memory (Metwally, Agrawal and El Abbadi).
//!
//! A subject with a slot is counted there. One without a slot replaces the one with the smallest
//! count, and continues from that count, which is its error. So a count is never too small, and too
//! large by at most its error; and the count of a subject without a slot is at most the smallest in
//! a slot. A subject that replaces another gets its label when it is counted again: in a flood most
//! are not, and are not listed.
//!
//! Subjects are spread over shards by a keyed fingerprint, and counted in epochs. A list is of the
//! last two.

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
use shard::TopShard;
use slidegate_policy::KeyText;
use slidegate_store::Key;
use slidegate_store::fingerprint::Fingerprints;
use slidegate_store::random;
use subject_hash::SubjectHash;
use tags::MAX_SLOTS;

/// Subject to count.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Naming of its rule.
    pub naming: &'a Arc<SubjectNaming>,
    /// Key of the subject, under that rule.
    pub key: &'a Key<'a>,
}

/// Top list: the subjects that were counted most often in the last five to ten minutes.
#[derive(Debug)]
pub struct Top {
    fingerprints: Fingerprints,
    shards: Box<[TopShard]>,
    display: Arc<SubjectDisplay>,
    /// Time of the first count or list.
    began_ms: OnceLock<u64>,
}

/// List of a [`Top`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopList {
    /// Entries in descending order.
    pub entries: Vec<TopEntry>,
    /// Begin of the period that is counted, as Unix milliseconds.
    pub since_ms: u64,
    /// Every subject with a higher count is in the list.
    pub bound: u64,
    /// Sum of the counts of all subjects.
    pub total: u64,
}

/// Entry of a list: a subject that was counted at least `count - error` and at most `count` times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopEntry {
    /// The rule's name.
    pub rule: Arc<str>,
    /// Key of the subject, part by part; texts of more than 256 bytes are cut.
    pub subject: Vec<KeyText>,
    /// True if the key is not complete, so that the subject cannot be looked up by it.
    pub cut: bool,
    /// Upper bound of its count.
    pub count: u64,
    /// Part of the count that may belong to other subjects.
    pub error: u64,
}

impl Top {
    /// Default capacity of a list, in subjects.
    pub const CAPACITY: usize = 1_024;
    /// Length of an epoch. A list is of the running one and the one before.
    pub const EPOCH_MS: u64 = 300_000;

    /// List with slots for this many subjects in each epoch.
    pub fn new(capacity: usize) -> Self {
        let shards = capacity.div_ceil(MAX_SLOTS).max(1);
        let slots = capacity.div_ceil(shards).max(1);
        Self {
            fingerprints: Fingerprints::new(random()),
            shards: (0..shards).map(|_| TopShard::new(slots)).collect(),
            display: Arc::default(),
            began_ms: OnceLock::new(),
        }
    }

    /// Sets the display of subjects, which may be shared with other lists and logs.
    pub fn displayed_by(self, display: Arc<SubjectDisplay>) -> Self {
        Self { display, ..self }
    }

    /// Counts a subject once.
    #[inline(always)]
    pub fn add(&self, subject: Subject<'_>, now_ms: u64) {
        let hash = SubjectHash::of(&self.fingerprints, &subject);
        let shard = &self.shards[hash.shard(self.shards.len())];
        if !shard.count_lock_free(hash, epoch(now_ms)) {
            self.began_ms.get_or_init(|| now_ms);
            shard.count(hash, epoch(now_ms), subject, &self.display);
        }
    }

    /// List of at most `most` subjects.
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
        // Subjects beyond `most` have at most this count.
        list.bound = list.bound.max(found.get(most).map_or(0, |entry| entry.count));
        found.truncate(most);
        let entries = found.into_iter().map(|entry| TopEntry {
            rule: Arc::clone(entry.label.rule()),
            subject: entry.label.render(&self.display),
            cut: entry.label.is_cut(&self.display),
            count: entry.count,
            error: entry.error,
        });
        list.entries.extend(entries);
        list
    }
}

/// Number of the epoch at a time.
#[inline(always)]
fn epoch(now_ms: u64) -> u32 {
    u32::try_from(now_ms / Top::EPOCH_MS).unwrap_or(u32::MAX)
}

impl Default for Top {
    fn default() -> Self {
        Self::new(Self::CAPACITY)
    }
}
