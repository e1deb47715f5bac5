//! Places of a shard that somebody holds: they may change hands.

use std::sync::atomic::Ordering::{Relaxed, Release};

use super::slot::{Slot, SlotContents};
use super::slots::Slots;
use super::subject_hash::SubjectHash;
use super::tags::PLACES;

/// Until it is dropped.
#[derive(Debug)]
pub(super) struct SlotsGuard<'a> {
    slots: &'a Slots,
    turns: u64,
}

/// What came of counting somebody who may have a place.
pub(super) enum RaiseOutcome {
    Yes,
    /// By whoever took this place with the count before, and has not been noted yet.
    NowNamed {
        stripe: usize,
        before: u64,
    },
    NoPlace,
}

impl Drop for SlotsGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slots.turns.store(self.turns + 1, Release);
    }
}

impl<'a> SlotsGuard<'a> {
    /// Guard of the writer that took this turn.
    #[inline(always)]
    pub(super) fn new(slots: &'a Slots, turns: u64) -> Self {
        Self { slots, turns }
    }

    /// The epoch that runs.
    #[inline(always)]
    pub(super) fn epoch(&self) -> u32 {
        self.slots.epoch.load(Relaxed)
    }

    /// Whether somebody new gets a place that nobody has.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.slots.given.load(Relaxed) < self.slots.all
    }

    fn given(&self) -> &[Slot] {
        &self.slots.row.0[..usize::from(self.slots.given.load(Relaxed))]
    }

    /// Counts a subject that has a slot.
    pub(super) fn raise(&self, hash: SubjectHash) -> RaiseOutcome {
        let given = self.given();
        let is_its = |stripe: &usize| given.get(*stripe).is_some_and(|slot| slot.belongs_to(hash));
        let Some(stripe) = self.slots.tags.of(hash).find(is_its) else { return RaiseOutcome::NoPlace };
        given[stripe]
            .raise_own()
            .map_or(RaiseOutcome::Yes, |before| RaiseOutcome::NowNamed { stripe, before })
    }

    /// Gives a place that nobody has to somebody who is noted.
    pub(super) fn give(&self, hash: SubjectHash) {
        let stripe = self.given().len();
        self.slots.row.0[stripe].give(hash, self.epoch());
        self.slots.tags.set(stripe, hash);
        self.slots.given.store(stripe as u8 + 1, Relaxed);
    }

    /// Gives the place with the smallest count to somebody else, who goes on from there.
    #[inline(always)]
    pub(super) fn pass_on(&self, hash: SubjectHash) {
        let (stripe, slot) = self.take_next().unwrap_or_else(|| self.take_smallest());
        slot.pass_on(hash, self.epoch(), self.slots.least.load(Relaxed));
        self.slots.tags.set(stripe, hash);
    }

    /// Takes the next of those with the smallest count, if there is one more.
    #[inline(always)]
    fn take_next(&self) -> Option<(usize, &Slot)> {
        let (least, mut stripe) =
            (self.slots.least.load(Relaxed), usize::from(self.slots.next.load(Relaxed)));
        while stripe < usize::from(self.slots.all) {
            let slot = &self.slots.row.0[stripe % PLACES];
            stripe += 1;
            if slot.take(least) {
                self.slots.next.store(stripe as u8, Relaxed);
                return Some((stripe - 1, slot));
            }
        }
        self.slots.next.store(stripe as u8, Relaxed);
        None
    }

    /// Looks again if somebody was counted meanwhile in all places with the smallest count: whoever is taken has to have the smallest.
    #[cold]
    fn take_smallest(&self) -> (usize, &Slot) {
        loop {
            let smallest = self.read().map(|contents| contents.count).min().expect("there is a stripe");
            self.slots.least.store(smallest, Relaxed);
            self.slots.next.store(0, Relaxed);
            if let Some(taken) = self.take_next() {
                return taken;
            }
        }
    }

    /// Subjects that have slots.
    pub(super) fn read(&self) -> impl Iterator<Item = SlotContents> {
        self.given().iter().map(Slot::read)
    }

    /// Begins an epoch, in which nobody has a place yet. Says who had one.
    pub(super) fn begin(&self, epoch: u32) -> Vec<SlotContents> {
        let contents = self.given().iter().map(Slot::clear).collect();
        self.slots.epoch.store(epoch, Relaxed);
        self.slots.given.store(0, Relaxed);
        self.slots.least.store(0, Relaxed);
        self.slots.next.store(0, Relaxed);
        contents
    }
}
