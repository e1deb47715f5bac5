//! A part of the subjects, by fingerprint: who they are, in the epoch that runs and in the one before.

use std::cmp::Reverse;

use super::Subject;
use super::kept::Kept;
use super::slots::{Had, Least, Raised, Slots};
use super::who::Who;
use crate::observe::subjects::Appearance;
use crate::sync::Mutex;

#[derive(Debug)]
pub(super) struct Shard {
    slots: Slots,
    epochs: Mutex<Epochs>,
}

#[derive(Default, Debug)]
struct Epochs {
    /// The one that runs.
    epoch: u64,
    /// Of those who have the first places, whoever was noted last there.
    known: Vec<Known>,
    least: Least,
    before: Ended,
}

/// An epoch that is over.
#[derive(Default, Debug)]
struct Ended {
    known: Vec<Counted>,
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
struct Known {
    kept: Kept,
    error: u64,
}

/// A subject, and how often it was counted.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    pub(super) kept: Kept,
    pub(super) who: Who,
    pub(super) count: u64,
    pub(super) error: u64,
}

/// What a shard knows.
pub(super) struct Told {
    /// The epoch that runs.
    pub(super) epoch: u64,
    pub(super) entries: Vec<Counted>,
    /// Everybody of this shard who was counted more often is among the entries.
    pub(super) bound: u64,
    pub(super) total: u64,
}

impl Shard {
    pub(super) fn new(places: usize) -> Self {
        Self { slots: Slots::new(places), epochs: Mutex::new(Epochs::default()) }
    }

    /// Counts a subject that is known, if that is seen at a glance.
    #[inline]
    pub(super) fn count_known(&self, who: Who, epoch: u64) -> bool {
        self.slots.raise(who, epoch)
    }

    /// Counts any subject.
    #[cold]
    pub(super) fn count(&self, who: Who, epoch: u64, subject: Subject<'_>, appearance: &Appearance) {
        let mut epochs = self.epochs.lock();
        self.turn(&mut epochs, epoch);
        let Epochs { epoch, known, least, .. } = &mut *epochs;
        match self.slots.raise_anywhere(who, known.len()) {
            Raised::Yes => {}
            Raised::NowNamed { place, before } => {
                known[place].kept.replace(subject, appearance);
                // What it had when it came.
                known[place].error = before - 1;
            }
            Raised::NoPlace if known.len() < self.slots.len() => {
                self.slots.give(known.len(), who, *epoch);
                known.push(Known { kept: Kept::new(subject, appearance), error: 0 });
            }
            // Most of a crowd are gone before they come again: whoever it is is noted then.
            Raised::NoPlace => self.slots.pass_on(who, *epoch, least),
        }
    }

    /// Under the lock: begins the epoch of this time, if an earlier one runs. Epochs never go back: whoever asks by a clock that is behind
    /// others is counted where they are.
    fn turn(&self, epochs: &mut Epochs, epoch: u64) {
        if epoch <= epochs.epoch {
            return;
        }
        let known = std::mem::take(&mut epochs.known);
        let had: Vec<Had> = (0..known.len()).map(|place| self.slots.take(place)).collect();
        let sums = self.sums(&had);
        let named = known.into_iter().zip(had).filter(|(_, had)| !had.is_nameless);
        let named =
            named.map(|(Known { kept, error }, Had { who, count, .. })| Counted { kept, who, count, error });
        let follows = epoch == epochs.epoch + 1;
        epochs.before = if follows { Ended { known: named.collect(), sums } } else { Ended::default() };
        epochs.least = Least::default();
        epochs.epoch = epoch;
    }

    /// By who had places.
    fn sums(&self, had: &[Had]) -> Sums {
        let smallest = had.iter().map(|had| had.count).min().filter(|_| had.len() == self.slots.len());
        let nameless = had.iter().filter(|had| had.is_nameless).map(|had| had.count).max();
        Sums { total: had.iter().map(|had| had.count).sum(), bound: smallest.max(nameless).unwrap_or(0) }
    }

    /// At most so many, most first.
    pub(super) fn most(&self, most: usize, epoch: u64) -> Told {
        let mut epochs = self.epochs.lock();
        self.turn(&mut epochs, epoch);
        let had: Vec<Had> = (0..epochs.known.len()).map(|place| self.slots.read(place)).collect();
        let (now, before) = (self.sums(&had), epochs.before.sums);
        let known = epochs.known.iter().zip(&had).filter(|(_, had)| !had.is_nameless);

        // Whoever is known in one epoch only was counted in the other at most as often as its bound says.
        let mut all = Vec::with_capacity(had.len() + epochs.before.known.len());
        for (Known { kept, error }, Had { who, count, .. }) in known.clone() {
            let earlier = epochs.before.known.iter().find(|entry| entry.who == *who);
            let (more, off) =
                earlier.map_or((before.bound, before.bound), |entry| (entry.count, entry.error));
            all.push((count + more, error + off, *who, kept));
        }
        for entry in &epochs.before.known {
            if known.clone().all(|(_, had)| had.who != entry.who) {
                let (count, error) = (entry.count + now.bound, entry.error + now.bound);
                all.push((count, error, entry.who, &entry.kept));
            }
        }
        all.sort_unstable_by_key(|(count, error, who, _)| (Reverse(*count), *error, *who));
        let left_out = all.get(most).map_or(0, |(count, ..)| *count);
        let entries = all.into_iter().take(most).map(|(count, error, who, kept)| Counted {
            kept: kept.clone(),
            who,
            count,
            error,
        });
        let bound = left_out.max(now.bound + before.bound);
        Told { epoch: epochs.epoch, entries: entries.collect(), bound, total: now.total + before.total }
    }
}
