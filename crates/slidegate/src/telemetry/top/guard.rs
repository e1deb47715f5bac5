//! Guard of the slots of a shard, under which subjects are added and replaced.

use std::sync::atomic::Ordering::{Relaxed, Release};

use super::slot::{SlotContents, TopSlot};
use super::slots::Slots;
use super::subject_hash::SubjectHash;
use super::tags::MAX_SLOTS;

/// Guard of slots, released on drop.
#[derive(Debug)]
pub(super) struct SlotsGuard<'a> {
    slots: &'a Slots,
    turns: u64,
}

/// Outcome of counting a subject under the guard.
pub(super) enum RaiseOutcome {
    Yes,
    /// Counted, and needs a label: it took this slot with the count before.
    NowLabelled {
        index: usize,
        before: u64,
    },
    NoSlot,
}

impl Drop for SlotsGuard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.slots.turns.store(self.turns + 1, Release);
    }
}

impl<'a> SlotsGuard<'a> {
    /// Guard at this sequence number.
    #[inline(always)]
    pub(super) fn new(slots: &'a Slots, turns: u64) -> Self {
        Self { slots, turns }
    }

    /// Number of the running epoch.
    #[inline(always)]
    pub(super) fn epoch(&self) -> u32 {
        self.slots.epoch.load(Relaxed)
    }

    /// True if there is a free slot.
    #[inline(always)]
    pub(super) fn has_free(&self) -> bool {
        self.slots.used.load(Relaxed) < self.slots.all
    }

    fn used(&self) -> &[TopSlot] {
        &self.slots.row.0[..usize::from(self.slots.used.load(Relaxed))]
    }

    /// Counts a subject that has a slot.
    pub(super) fn raise(&self, hash: SubjectHash) -> RaiseOutcome {
        let used = self.used();
        let is_its = |index: &usize| used.get(*index).is_some_and(|slot| slot.belongs_to(hash));
        let Some(index) = self.slots.tags.of(hash).find(is_its) else { return RaiseOutcome::NoSlot };
        used[index]
            .raise_own()
            .map_or(RaiseOutcome::Yes, |before| RaiseOutcome::NowLabelled { index, before })
    }

    /// Assigns a free slot to a labelled subject.
    pub(super) fn give(&self, hash: SubjectHash) {
        let index = self.used().len();
        self.slots.row.0[index].give(hash, self.epoch());
        self.slots.tags.set(index, hash);
        self.slots.used.store(index as u8 + 1, Relaxed);
    }

    /// Replaces the subject with the smallest count; the new one continues from it.
    #[inline(always)]
    pub(super) fn replace(&self, hash: SubjectHash) {
        let (index, slot) = self.take_next().unwrap_or_else(|| self.take_smallest());
        slot.replace(hash, self.epoch(), self.slots.least.load(Relaxed));
        self.slots.tags.set(index, hash);
    }

    /// Takes the next slot with the smallest count, if there is one.
    #[inline(always)]
    fn take_next(&self) -> Option<(usize, &TopSlot)> {
        let (least, mut index) = (self.slots.least.load(Relaxed), usize::from(self.slots.next.load(Relaxed)));
        while index < usize::from(self.slots.all) {
            let slot = &self.slots.row.0[index % MAX_SLOTS];
            index += 1;
            if slot.take(least) {
                self.slots.next.store(index as u8, Relaxed);
                return Some((index - 1, slot));
            }
        }
        self.slots.next.store(index as u8, Relaxed);
        None
    }

    /// Searches again if all slots with the smallest count were counted meanwhile.
    #[cold]
    fn take_smallest(&self) -> (usize, &TopSlot) {
        loop {
            let smallest = self.read().map(|contents| contents.count).min().expect("there is a index");
            self.slots.least.store(smallest, Relaxed);
            self.slots.next.store(0, Relaxed);
            if let Some(entry) = self.take_next() {
                return entry;
            }
        }
    }

    /// Subjects that have slots.
    pub(super) fn read(&self) -> impl Iterator<Item = SlotContents> {
        self.used().iter().map(TopSlot::read)
    }

    /// Begins an epoch with free slots. Returns the subjects of the last one.
    pub(super) fn begin(&self, epoch: u32) -> Vec<SlotContents> {
        let contents = self.used().iter().map(TopSlot::clear).collect();
        self.slots.epoch.store(epoch, Relaxed);
        self.slots.used.store(0, Relaxed);
        self.slots.least.store(0, Relaxed);
        self.slots.next.store(0, Relaxed);
        contents
    }
}
