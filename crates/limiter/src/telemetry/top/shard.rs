//! A part of the subjects, by fingerprint: who they are, in the epoch that runs and in the one before.

use std::cmp::Reverse;

use super::Subject;
use super::guard::{Held, Raised};
use super::label::{Kept, Note};
use super::slot::Had;
use super::slots::{Seen, Slots};
use super::subject_hash::Who;
use crate::telemetry::subject_display::Appearance;
use slidegate_store::sync::Mutex;

#[derive(Debug)]
pub(super) struct Shard {
    slots: Slots,
    names: Mutex<Names>,
}

#[derive(Default, Debug)]
struct Names {
    /// Of those who have places, whoever was noted last there.
    known: Vec<Known>,
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
    pub(super) epoch: u32,
    pub(super) entries: Vec<Counted>,
    /// Everybody of this shard who was counted more often is among the entries.
    pub(super) bound: u64,
    pub(super) total: u64,
}

impl Shard {
    pub(super) fn new(places: usize) -> Self {
        Self { slots: Slots::new(places), names: Mutex::new(Names::default()) }
    }

    /// Counts a subject that is known, or a stranger in a crowd, without a lock. Says whether it was counted.
    #[inline(always)]
    pub(super) fn count_at_once(&self, who: Who, epoch: u32) -> bool {
        match self.slots.count_known(who, epoch) {
            Seen::Counted => true,
            Seen::Unclear => false,
            Seen::Stranger(turns) => self.slots.count_stranger(who, epoch, turns),
        }
    }

    /// Counts any subject.
    #[cold]
    pub(super) fn count(&self, who: Who, epoch: u32, subject: Subject<'_>, appearance: &Appearance) {
        // Before anything is held, as it may call somebody.
        let note = Note::of(subject, appearance);
        let mut names = self.names.lock();
        let held = self.slots.hold();
        names.turn(&held, epoch);
        match held.raise(who) {
            Raised::Yes => {}
            Raised::NowNamed { place, before } => {
                drop(held);
                names.known[place].kept.replace(note);
                // What it had when it came.
                names.known[place].error = before - 1;
            }
            Raised::NoPlace if held.has_room() => {
                held.give(who);
                drop(held);
                names.known.push(Known { kept: Kept::new(note), error: 0 });
            }
            // Most of a crowd are gone before they come again: whoever it is is noted then.
            Raised::NoPlace => held.pass_on(who),
        }
    }

    /// At most so many, most first.
    pub(super) fn most(&self, most: usize, epoch: u32) -> Told {
        let mut names = self.names.lock();
        let held = self.slots.hold();
        names.turn(&held, epoch);
        let (had, epoch): (Vec<Had>, u32) = (held.read().collect(), held.epoch());
        let (now, before) = (Sums::of(&had, held.has_room()), names.before.sums);
        drop(held);
        let known = names.known.iter().zip(&had).filter(|(_, had)| !had.is_nameless);

        // Whoever is known in one epoch only was counted in the other at most as often as its bound says.
        let mut all = Vec::with_capacity(had.len() + names.before.known.len());
        for (Known { kept, error }, Had { who, count, .. }) in known.clone() {
            let earlier = names.before.known.iter().find(|entry| entry.who == *who);
            let (more, off) =
                earlier.map_or((before.bound, before.bound), |entry| (entry.count, entry.error));
            all.push((count + more, error + off, *who, kept));
        }
        for entry in &names.before.known {
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
        Told { epoch, entries: entries.collect(), bound, total: now.total + before.total }
    }
}

impl Names {
    /// Begins the epoch of this time, if an earlier one runs. Epochs never go back: whoever asks by a clock that is behind others is counted where
    /// they are.
    fn turn(&mut self, held: &Held<'_>, epoch: u32) {
        let (runs, had_room) = (held.epoch(), held.has_room());
        if epoch <= runs {
            return;
        }
        let had = held.begin(epoch);
        let sums = Sums::of(&had, had_room);
        let named = self.known.drain(..).zip(had).filter(|(_, had)| !had.is_nameless);
        let named =
            named.map(|(Known { kept, error }, Had { who, count, .. })| Counted { kept, who, count, error });
        self.before =
            if epoch == runs + 1 { Ended { known: named.collect(), sums } } else { Ended::default() };
    }
}

impl Sums {
    /// Of those who had places, where everybody had room or not.
    fn of(had: &[Had], had_room: bool) -> Self {
        let smallest = had.iter().map(|had| had.count).min().filter(|_| !had_room);
        let nameless = had.iter().filter(|had| had.is_nameless).map(|had| had.count).max();
        Self { total: had.iter().map(|had| had.count).sum(), bound: smallest.max(nameless).unwrap_or(0) }
    }
}
