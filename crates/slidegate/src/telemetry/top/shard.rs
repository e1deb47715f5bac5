//! A part of the subjects, by fingerprint: who they are, in the epoch that runs and in the one before.

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
pub(super) struct Shard {
    slots: Slots,
    names: Mutex<Labels>,
}

#[derive(Default, Debug)]
struct Labels {
    /// Labels of the subjects that have slots: the last that was written for each slot.
    known: Vec<LabelEntry>,
    before: PastEpoch,
}

/// An epoch that is over.
#[derive(Default, Debug)]
struct PastEpoch {
    known: Vec<CountedSubject>,
    sums: Sums,
}

/// What is told of all who were counted in an epoch.
#[derive(Clone, Copy, Default, Debug)]
struct Sums {
    total: u64,
    /// Everybody who was counted more often is known.
    bound: u64,
}

#[derive(Clone, Debug)]
struct LabelEntry {
    label: Label,
    error: u64,
}

/// A subject, and how often it was counted.
#[derive(Clone, Debug)]
pub(super) struct CountedSubject {
    pub(super) label: Label,
    pub(super) hash: SubjectHash,
    pub(super) count: u64,
    pub(super) error: u64,
}

/// What a shard knows.
pub(super) struct ShardReport {
    /// The epoch that runs.
    pub(super) epoch: u32,
    pub(super) entries: Vec<CountedSubject>,
    /// Everybody of this shard who was counted more often is among the entries.
    pub(super) bound: u64,
    pub(super) total: u64,
}

impl Shard {
    pub(super) fn new(places: usize) -> Self {
        Self { slots: Slots::new(places), names: Mutex::new(Labels::default()) }
    }

    /// Counts a subject that has a slot, or a stranger in a crowd, without a lock. Says whether it was counted.
    #[inline(always)]
    pub(super) fn count_at_once(&self, hash: SubjectHash, epoch: u32) -> bool {
        match self.slots.count_known(hash, epoch) {
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
        // Before anything is held, as it may call somebody.
        let note = LabelSource::of(subject, display);
        let mut names = self.names.lock();
        let guard = self.slots.hold();
        names.turn(&guard, epoch);
        match guard.raise(hash) {
            RaiseOutcome::Yes => {}
            RaiseOutcome::NowNamed { stripe, before } => {
                drop(guard);
                names.known[stripe].label.replace(note);
                // What it had when it came.
                names.known[stripe].error = before - 1;
            }
            RaiseOutcome::NoPlace if guard.has_room() => {
                guard.give(hash);
                drop(guard);
                names.known.push(LabelEntry { label: Label::new(note), error: 0 });
            }
            // Most of a crowd are gone before they come again: whoever it is is noted then.
            RaiseOutcome::NoPlace => guard.pass_on(hash),
        }
    }

    /// At most so many, most first.
    pub(super) fn most(&self, most: usize, epoch: u32) -> ShardReport {
        let mut names = self.names.lock();
        let guard = self.slots.hold();
        names.turn(&guard, epoch);
        let (contents, epoch): (Vec<SlotContents>, u32) = (guard.read().collect(), guard.epoch());
        let (now, before) = (Sums::of(&contents, guard.has_room()), names.before.sums);
        drop(guard);
        let known = names.known.iter().zip(&contents).filter(|(_, contents)| !contents.is_nameless);

        // Whoever is known in one epoch only was counted in the other at most as often as its bound says.
        let mut all = Vec::with_capacity(contents.len() + names.before.known.len());
        for (LabelEntry { label, error }, SlotContents { hash, count, .. }) in known.clone() {
            let earlier = names.before.known.iter().find(|entry| entry.hash == *hash);
            let (more, off) =
                earlier.map_or((before.bound, before.bound), |entry| (entry.count, entry.error));
            all.push((count + more, error + off, *hash, label));
        }
        for entry in &names.before.known {
            if known.clone().all(|(_, contents)| contents.hash != entry.hash) {
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
    /// Begins the epoch of this time, if an earlier one runs. Epochs never go back: whoever asks by a clock that is behind others is counted where
    /// they are.
    fn turn(&mut self, guard: &SlotsGuard<'_>, epoch: u32) {
        let (runs, had_room) = (guard.epoch(), guard.has_room());
        if epoch <= runs {
            return;
        }
        let contents = guard.begin(epoch);
        let sums = Sums::of(&contents, had_room);
        let named = self.known.drain(..).zip(contents).filter(|(_, contents)| !contents.is_nameless);
        let named = named.map(|(LabelEntry { label, error }, SlotContents { hash, count, .. })| {
            CountedSubject { label, hash, count, error }
        });
        self.before =
            if epoch == runs + 1 { PastEpoch { known: named.collect(), sums } } else { PastEpoch::default() };
    }
}

impl Sums {
    /// Subjects that had slots, whether or not there was a slot for every subject.
    fn of(contents: &[SlotContents], had_room: bool) -> Self {
        let smallest = contents.iter().map(|contents| contents.count).min().filter(|_| !had_room);
        let nameless =
            contents.iter().filter(|contents| contents.is_nameless).map(|contents| contents.count).max();
        Self {
            total: contents.iter().map(|contents| contents.count).sum(),
            bound: smallest.max(nameless).unwrap_or(0),
        }
    }
}
