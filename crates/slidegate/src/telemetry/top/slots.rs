//! Slots of a shard. Labelled subjects are counted without the guard; subjects are replaced only
//! under it.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::thread;

use super::guard::SlotsGuard;
use super::slot::{SlotMatch, TopSlot};
use super::subject_hash::SubjectHash;
use super::tags::{MAX_SLOTS, Tags};

/// Slots of a shard. An unknown subject mostly touches two cache lines: the first, and that of the
/// slot which it takes.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Slots {
    /// Sequence number: raised when a guard is taken and when it is dropped, so odd in between.
    pub(super) turns: AtomicU64,
    pub(super) tags: Tags,
    /// Progress of the search for the smallest count: no slot has a smaller one than `least`, and
    /// those before `next` have a larger one, as counts only grow. So in a flood each unknown
    /// subject reads a slot or two.
    pub(super) least: AtomicU64,
    /// Number of the running epoch.
    pub(super) epoch: AtomicU32,
    pub(super) next: AtomicU8,
    /// Number of slots in use in this epoch, the first ones.
    pub(super) used: AtomicU8,
    /// Number of slots.
    pub(super) all: u8,
    pub(super) row: SlotRow,
}

/// Slots, on cache lines apart from the shared fields, which frequent counts would invalidate.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct SlotRow(pub(super) [TopSlot; MAX_SLOTS]);

/// Outcome of counting without the guard.
#[derive(Clone, Copy, Debug)]
pub(super) enum CountOutcome {
    Counted,
    /// Only the guard can count it: it has no label yet, or an epoch begins.
    Unclear,
    /// It had no slot at this sequence number.
    Stranger(u64),
}

impl Slots {
    /// Slots, at most [`MAX_SLOTS`].
    pub(super) fn new(all: usize) -> Self {
        Self {
            turns: AtomicU64::new(0),
            tags: Tags::default(),
            least: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            next: AtomicU8::new(0),
            used: AtomicU8::new(0),
            all: all as u8,
            row: SlotRow([const { TopSlot::empty() }; MAX_SLOTS]),
        }
    }

    /// Counts a subject that has a slot.
    ///
    /// Tags and slots are read after the sequence number and are not older. If they are newer, the
    /// number has changed, and an unknown subject is not counted by them.
    #[inline(always)]
    pub(super) fn count_present(&self, hash: SubjectHash, epoch: u32) -> CountOutcome {
        let turns = self.turns.load(Acquire);
        // A clock that is behind counts in the epoch that runs.
        let runs = self.epoch.load(Relaxed);
        if epoch > runs {
            return CountOutcome::Unclear;
        }
        for index in self.tags.of(hash) {
            match self.row.0[index].raise(hash, runs) {
                SlotMatch::Counted => return CountOutcome::Counted,
                SlotMatch::Own => return CountOutcome::Unclear,
                SlotMatch::Other => {}
            }
        }
        CountOutcome::Stranger(turns)
    }

    /// Counts an unknown subject in the slot of another one, if the sequence number is unchanged.
    /// Returns whether it was counted.
    #[inline(always)]
    pub(super) fn count_stranger(&self, hash: SubjectHash, epoch: u32, turns: u64) -> bool {
        let Some(guard) = self.try_hold(turns) else { return false };
        let is_counted = epoch <= guard.epoch() && !guard.has_free();
        if is_counted {
            guard.replace(hash);
        }
        is_counted
    }

    /// Takes the guard. Waits for a replacement, which takes a few instructions. Call it under a
    /// lock, so that no thread waits for more than that.
    pub(super) fn hold(&self) -> SlotsGuard<'_> {
        const SPINS: usize = 100;
        loop {
            for _ in 0..SPINS {
                match self.try_hold(self.turns.load(Relaxed)) {
                    Some(guard) => return guard,
                    None => spin_loop(),
                }
            }
            // The other thread is not running.
            thread::yield_now();
        }
    }

    #[inline(always)]
    fn try_hold(&self, turns: u64) -> Option<SlotsGuard<'_>> {
        let is_free = turns.is_multiple_of(2);
        let locked = is_free && self.turns.compare_exchange(turns, turns + 1, Acquire, Relaxed).is_ok();
        // Made only if it is taken: to drop it is to release.
        locked.then(|| SlotsGuard::new(self, turns + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_guard_releases() {
        let slots = Slots::new(1);
        let guard = slots.hold();
        for turns in 0..4 {
            assert!(slots.try_hold(turns).is_none(), "{turns}");
            assert!(!slots.count_stranger(SubjectHash(1), 0, turns), "{turns}");
        }
        drop(guard);
        // A look-up from before another writer's turn has to be repeated.
        assert!(slots.try_hold(0).is_none());
        assert!(slots.try_hold(2).is_some());
    }

    /// Two threads that find a subject unknown, and count it one after the other.
    #[test]
    fn an_unknown_subject_gets_one_slot() {
        let slots = Slots::new(2);
        let guard = slots.hold();
        guard.give(SubjectHash(1));
        guard.give(SubjectHash(2));
        drop(guard);
        let [CountOutcome::Stranger(one), CountOutcome::Stranger(other)] =
            [0; 2].map(|epoch| slots.count_present(SubjectHash(3), epoch))
        else {
            panic!("it has no slot")
        };
        assert!(slots.count_stranger(SubjectHash(3), 0, one));
        assert!(!slots.count_stranger(SubjectHash(3), 0, other));
        assert!(matches!(slots.count_present(SubjectHash(3), 0), CountOutcome::Unclear), "it has no label");
        let contents: Vec<u64> = slots.hold().read().map(|contents| contents.count).collect();
        assert_eq!(contents, [2, 1]);
    }

    /// Or every denial by such a clock would wait for a lock.
    #[test]
    fn a_clock_that_is_behind_counts_without_holding() {
        let slots = Slots::new(1);
        let guard = slots.hold();
        guard.begin(5);
        guard.give(SubjectHash(1));
        drop(guard);
        assert!(matches!(slots.count_present(SubjectHash(1), 3), CountOutcome::Counted));
        let CountOutcome::Stranger(turns) = slots.count_present(SubjectHash(2), 3) else {
            panic!("it has no slot")
        };
        assert!(slots.count_stranger(SubjectHash(2), 3, turns));
        assert!(matches!(slots.count_present(SubjectHash(3), 6), CountOutcome::Unclear), "an epoch begins");
        assert!(!slots.count_stranger(SubjectHash(3), 6, turns + 2));
    }
}
