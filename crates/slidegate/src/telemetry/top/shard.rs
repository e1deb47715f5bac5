//! Shard of a top list: the slots of the running epoch, the labels of their subjects, and the epoch
//! before.

use std::cmp::Reverse;

use super::Subject;
use super::guard::{RaiseOutcome, SlotsGuard};
use super::label::{Label, LabelSource};
use super::slot::SlotContents;
use super::slots::{CountOutcome, Slots};
use super::subject_hash::SubjectHash;
use crate::telemetry::subject_display::SubjectDisplay;
use slidegate_store::sync::Mutex;

#[derive(Debug)]
pub(super) struct TopShard {
    slots: Slots,
    labels: Mutex<Labels>,
}

#[derive(Default, Debug)]
struct Labels {
    /// Last label of each slot.
    entries: Vec<LabelEntry>,
    before: PastEpoch,
}

/// Epoch that is over.
#[derive(Default, Debug)]
struct PastEpoch {
    subjects: Vec<CountedSubject>,
    sums: Sums,
}

/// Sums of an epoch.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    total: u64,
    /// Every subject with a higher count is listed.
    bound: u64,
}

#[derive(Clone, Debug)]
struct LabelEntry {
    label: Label,
    error: u64,
}

/// Subject and its count.
#[derive(Clone, Debug)]
pub(super) struct CountedSubject {
    pub(super) label: Label,
    pub(super) hash: SubjectHash,
    pub(super) count: u64,
    pub(super) error: u64,
}

/// List of one shard.
pub(super) struct ShardReport {
    /// Number of the running epoch.
    pub(super) epoch: u32,
    pub(super) entries: Vec<CountedSubject>,
    /// Every subject of this shard with a higher count is among the entries.
    pub(super) bound: u64,
    pub(super) total: u64,
}

impl TopShard {
    pub(super) fn new(slots: usize) -> Self {
        Self { slots: Slots::new(slots), labels: Mutex::new(Labels::default()) }
    }

    /// Counts a labelled subject, or an unknown one if all slots are in use, without a lock.
    /// Returns whether it was counted.
    #[inline(always)]
    pub(super) fn count_lock_free(&self, hash: SubjectHash, epoch: u32) -> bool {
        match self.slots.count_present(hash, epoch) {
            CountOutcome::Counted => true,
            CountOutcome::Unclear => false,
            CountOutcome::Stranger(turns) => self.slots.count_stranger(hash, epoch, turns),
        }
    }

    /// Counts any subject.
    #[cold]
    pub(super) fn count(
        &self,
        hash: SubjectHash,
        epoch: u32,
        subject: Subject<'_>,
        display: &SubjectDisplay,
    ) {
        // Before any lock, since that calls code of the subject's rule.
        let source = LabelSource::of(subject, display);
        let mut labels = self.labels.lock();
        let guard = self.slots.hold();
        labels.begin(&guard, epoch);
        match guard.raise(hash) {
            RaiseOutcome::Yes => {}
            RaiseOutcome::NowLabelled { index, before } => {
                drop(guard);
                labels.entries[index].label.replace(source);
                // The count at its arrival.
                labels.entries[index].error = before - 1;
            }
            RaiseOutcome::NoSlot if guard.has_free() => {
                guard.give(hash);
                drop(guard);
                labels.entries.push(LabelEntry { label: Label::new(source), error: 0 });
            }
            // In a flood most are replaced before they are counted again, and need no label.
            RaiseOutcome::NoSlot => guard.replace(hash),
        }
    }

    /// At most `most` subjects, in descending order.
    pub(super) fn most(&self, most: usize, epoch: u32) -> ShardReport {
        let mut labels = self.labels.lock();
        let guard = self.slots.hold();
        labels.begin(&guard, epoch);
        let (contents, epoch): (Vec<SlotContents>, u32) = (guard.read().collect(), guard.epoch());
        let (now, before) = (Sums::of(&contents, guard.has_free()), labels.before.sums);
        drop(guard);
        let labelled = labels.entries.iter().zip(&contents).filter(|(_, contents)| !contents.is_unlabelled);

        // A subject that is listed in one epoch only has at most the bound of the other.
        let mut all = Vec::with_capacity(contents.len() + labels.before.subjects.len());
        for (LabelEntry { label, error }, SlotContents { hash, count, .. }) in labelled.clone() {
            let earlier = labels.before.subjects.iter().find(|entry| entry.hash == *hash);
            let (more, off) =
                earlier.map_or((before.bound, before.bound), |entry| (entry.count, entry.error));
            all.push((count + more, error + off, *hash, label));
        }
        for entry in &labels.before.subjects {
            if labelled.clone().all(|(_, contents)| contents.hash != entry.hash) {
                let (count, error) = (entry.count + now.bound, entry.error + now.bound);
                all.push((count, error, entry.hash, &entry.label));
            }
        }
        all.sort_unstable_by_key(|(count, error, hash, _)| (Reverse(*count), *error, *hash));
        let left_out = all.get(most).map_or(0, |(count, ..)| *count);
        let entries = all.into_iter().take(most).map(|(count, error, hash, label)| CountedSubject {
            label: label.clone(),
            hash,
            count,
            error,
        });
        let bound = left_out.max(now.bound + before.bound);
        ShardReport { epoch, entries: entries.collect(), bound, total: now.total + before.total }
    }
}

impl Labels {
    /// Begins an epoch, if it is later than the running one: a clock that is behind counts in that.
    fn begin(&mut self, guard: &SlotsGuard<'_>, epoch: u32) {
        let (runs, had_free) = (guard.epoch(), guard.has_free());
        if epoch <= runs {
            return;
        }
        let contents = guard.begin(epoch);
        let sums = Sums::of(&contents, had_free);
        let labelled = self.entries.drain(..).zip(contents).filter(|(_, contents)| !contents.is_unlabelled);
        let labelled = labelled.map(|(LabelEntry { label, error }, SlotContents { hash, count, .. })| {
            CountedSubject { label, hash, count, error }
        });
        self.before = if epoch == runs + 1 {
            PastEpoch { subjects: labelled.collect(), sums }
        } else {
            PastEpoch::default()
        };
    }
}

impl Sums {
    /// Sums of the subjects in slots, given whether there was a slot for every subject.
    fn of(contents: &[SlotContents], had_free: bool) -> Self {
        let smallest = contents.iter().map(|contents| contents.count).min().filter(|_| !had_free);
        let unlabelled =
            contents.iter().filter(|contents| contents.is_unlabelled).map(|contents| contents.count).max();
        Self {
            total: contents.iter().map(|contents| contents.count).sum(),
            bound: smallest.max(unlabelled).unwrap_or(0),
        }
    }
}
