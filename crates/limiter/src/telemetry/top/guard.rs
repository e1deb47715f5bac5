//! Places of a shard that somebody holds: they may change hands.

use std::sync::atomic::Ordering::{Relaxed, Release};

use super::slot::{Had, Slot};
use super::slots::Slots;
use super::subject_hash::Who;
use super::tags::PLACES;

/// Until it is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    slots: &'a Slots,
    turns: u64,
}

/// What came of counting somebody who may have a place.
pub(super) enum Raised {
    Yes,
    /// By whoever took this place with the count before, and has not been noted yet.
    NowNamed {
        place: usize,
        before: u64,
    },
    NoPlace,
}

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slots.turns.store(self.turns + 1, Release);
    }
}

impl<'a> Held<'a> {
    /// Of whoever took this turn.
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

    /// Counts whoever has a place.
    pub(super) fn raise(&self, who: Who) -> Raised {
        let given = self.given();
        let is_its = |place: &usize| given.get(*place).is_some_and(|slot| slot.belongs_to(who));
        let Some(place) = self.slots.tags.of(who).find(is_its) else { return Raised::NoPlace };
        given[place].raise_own().map_or(Raised::Yes, |before| Raised::NowNamed { place, before })
    }

    /// Gives a place that nobody has to somebody who is noted.
    pub(super) fn give(&self, who: Who) {
        let place = self.given().len();
        self.slots.row.0[place].give(who, self.epoch());
        self.slots.tags.set(place, who);
        self.slots.given.store(place as u8 + 1, Relaxed);
    }

    /// Gives the place with the smallest count to somebody else, who goes on from there.
    #[inline(always)]
    pub(super) fn pass_on(&self, who: Who) {
        let (place, slot) = self.take_next().unwrap_or_else(|| self.take_smallest());
        slot.pass_on(who, self.epoch(), self.slots.least.load(Relaxed));
        self.slots.tags.set(place, who);
    }

    /// Takes the next of those with the smallest count, if there is one more.
    #[inline(always)]
    fn take_next(&self) -> Option<(usize, &Slot)> {
        let (least, mut place) = (self.slots.least.load(Relaxed), usize::from(self.slots.next.load(Relaxed)));
        while place < usize::from(self.slots.all) {
            let slot = &self.slots.row.0[place % PLACES];
            place += 1;
            if slot.take(least) {
                self.slots.next.store(place as u8, Relaxed);
                return Some((place - 1, slot));
            }
        }
        self.slots.next.store(place as u8, Relaxed);
        None
    }

    /// Looks again if somebody was counted meanwhile in all places with the smallest count: whoever is taken has to have the smallest.
    #[cold]
    fn take_smallest(&self) -> (usize, &Slot) {
        loop {
            let smallest = self.read().map(|had| had.count).min().expect("there is a place");
            self.slots.least.store(smallest, Relaxed);
            self.slots.next.store(0, Relaxed);
            if let Some(taken) = self.take_next() {
                return taken;
            }
        }
    }

    /// Who has places.
    pub(super) fn read(&self) -> impl Iterator<Item = Had> {
        self.given().iter().map(Slot::read)
    }

    /// Begins an epoch, in which nobody has a place yet. Says who had one.
    pub(super) fn begin(&self, epoch: u32) -> Vec<Had> {
        let had = self.given().iter().map(Slot::clear).collect();
        self.slots.epoch.store(epoch, Relaxed);
        self.slots.given.store(0, Relaxed);
        self.slots.least.store(0, Relaxed);
        self.slots.next.store(0, Relaxed);
        had
    }
}
