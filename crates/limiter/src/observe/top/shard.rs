//! A part of the subjects, by fingerprint: who they are, in the epoch that runs and in the one before.

use std::cmp::Reverse;

use super::Subject;
use super::kept::Kept;
use super::slots::{Least, Slots};
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
    /// Who has the first places.
    known: Vec<Known>,
    least: Least,
    before: Vec<Counted>,
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
        if self.slots.raise_anywhere(who, known.len()) {
            return;
        }
        let (place, error) = match known.len() {
            free if free < self.slots.len() => {
                known.push(Known { kept: Kept::new(subject, appearance), error: 0 });
                (free, 0)
            }
            _ => {
                let (place, error) = self.slots.take_smallest(least);
                known[place].kept.replace(subject, appearance);
                known[place].error = error;
                (place, error)
            }
        };
        self.slots.give(place, who, (*epoch, error + 1));
    }

    /// Under the lock: begins the epoch of this time, if an earlier one runs. Epochs never go back: whoever asks by a clock that is behind
    /// others is counted where they are.
    fn turn(&self, epochs: &mut Epochs, epoch: u64) {
        if epoch <= epochs.epoch {
            return;
        }
        let known = std::mem::take(&mut epochs.known);
        let ended = known.into_iter().enumerate().map(|(place, Known { kept, error })| {
            let (who, count) = self.slots.take(place);
            Counted { kept, who, count, error }
        });
        let ended: Vec<Counted> = ended.collect();
        let follows = epoch == epochs.epoch + 1;
        epochs.before = if follows { ended } else { Vec::new() };
        epochs.least = Least::default();
        epochs.epoch = epoch;
    }

    /// At most so many, most first.
    pub(super) fn most(&self, most: usize, epoch: u64) -> Told {
        let mut epochs = self.epochs.lock();
        self.turn(&mut epochs, epoch);
        let now: Vec<_> = (0..epochs.known.len()).map(|place| self.slots.read(place)).collect();
        let smallest = |counts: &mut dyn Iterator<Item = u64>| counts.min().unwrap_or(0);
        let floor = |used: usize, least: u64| if used < self.slots.len() { 0 } else { least };
        let floor_now = floor(now.len(), smallest(&mut now.iter().map(|(_, count)| *count)));
        let floor_before =
            floor(epochs.before.len(), smallest(&mut epochs.before.iter().map(|entry| entry.count)));
        let total = now.iter().map(|(_, count)| count).sum::<u64>()
            + epochs.before.iter().map(|entry| entry.count).sum::<u64>();

        // Whoever is known in one epoch only was counted in the other at most as often as the smallest there.
        let mut all = Vec::with_capacity(now.len() + epochs.before.len());
        for (known, (who, count)) in epochs.known.iter().zip(&now) {
            let before = epochs.before.iter().find(|entry| entry.who == *who);
            let (more, off) = before.map_or((floor_before, floor_before), |entry| (entry.count, entry.error));
            all.push((count + more, known.error + off, *who, &known.kept));
        }
        for entry in &epochs.before {
            if now.iter().all(|(who, _)| *who != entry.who) {
                let (count, error) = (entry.count + floor_now, entry.error + floor_now);
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
        let bound = left_out.max(floor_now + floor_before);
        Told { epoch: epochs.epoch, entries: entries.collect(), bound, total }
    }
}
