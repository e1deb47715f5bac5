//! The places of a shard. Whoever is known is counted without holding them; they change hands only while somebody holds them.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::thread;

use super::guard::SlotsGuard;
use super::slot::{Slot, SlotMatch};
use super::subject_hash::SubjectHash;
use super::tags::{PLACES, Tags};

/// All that a stranger mostly costs is in two cache lines: the first, and that of the place which it takes.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Slots {
    /// How often somebody has begun or ceased to hold them: odd while somebody does.
    pub(super) turns: AtomicU64,
    pub(super) tags: Tags,
    /// How far the search for the smallest count has come: no place has a smaller one than `least`, and those before `next` have a larger one,
    /// as counts only grow. So a crowd of strangers, each of whom takes a place, costs a look or two each.
    pub(super) least: AtomicU64,
    /// The epoch that runs.
    pub(super) epoch: AtomicU32,
    pub(super) next: AtomicU8,
    /// So many of the places, the first, have been given to somebody in this epoch.
    pub(super) given: AtomicU8,
    /// How many there are.
    pub(super) all: u8,
    pub(super) row: Row,
}

/// Not where everybody looks first: there somebody who is counted often would be in the way.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Row(pub(super) [Slot; PLACES]);

/// What came of counting somebody without holding the places.
#[derive(Clone, Copy, Debug)]
pub(super) enum CountOutcome {
    Counted,
    /// Only who holds the places can count it: it is not noted yet, or an epoch begins.
    Unclear,
    /// It had no place when so many turns had been taken.
    Stranger(u64),
}

impl Slots {
    /// With at most [`PLACES`].
    pub(super) fn new(all: usize) -> Self {
        Self {
            turns: AtomicU64::new(0),
            tags: Tags::default(),
            least: AtomicU64::new(0),
            epoch: AtomicU32::new(0),
            next: AtomicU8::new(0),
            given: AtomicU8::new(0),
            all: all as u8,
            row: Row([const { Slot::empty() }; PLACES]),
        }
    }

    /// Counts a subject that has a slot.
    ///
    /// Tags and places are read after the turns and are not older than those; if they are newer, the number of turns has changed, and no stranger
    /// is counted by what was read.
    #[inline(always)]
    pub(super) fn count_known(&self, hash: SubjectHash, epoch: u32) -> CountOutcome {
        let turns = self.turns.load(Acquire);
        // A clock that is behind counts in the epoch that runs.
        let runs = self.epoch.load(Relaxed);
        if epoch > runs {
            return CountOutcome::Unclear;
        }
        for stripe in self.tags.of(hash) {
            match self.row.0[stripe].raise(hash, runs) {
                SlotMatch::Counted => return CountOutcome::Counted,
                SlotMatch::Own => return CountOutcome::Unclear,
                SlotMatch::Other => {}
            }
        }
        CountOutcome::Stranger(turns)
    }

    /// Counts a stranger in the slot of another subject, if nothing has changed since it was seen to be one. Says whether it was counted.
    #[inline(always)]
    pub(super) fn count_stranger(&self, hash: SubjectHash, epoch: u32, turns: u64) -> bool {
        let Some(guard) = self.try_hold(turns) else { return false };
        let is_counted = epoch <= guard.epoch() && !guard.has_room();
        if is_counted {
            guard.pass_on(hash);
        }
        is_counted
    }

    /// Waits for whoever counts a stranger, which takes a few instructions. To be called under a lock, so that nobody waits for more than that.
    pub(super) fn hold(&self) -> SlotsGuard<'_> {
        const SPINS: usize = 100;
        loop {
            for _ in 0..SPINS {
                match self.try_hold(self.turns.load(Relaxed)) {
                    Some(guard) => return guard,
                    None => spin_loop(),
                }
            }
            // Its thread does not run.
            thread::yield_now();
        }
    }

    #[inline(always)]
    fn try_hold(&self, turns: u64) -> Option<SlotsGuard<'_>> {
        let is_free = turns.is_multiple_of(2);
        let taken = is_free && self.turns.compare_exchange(turns, turns + 1, Acquire, Relaxed).is_ok();
        // Not made where it is not held: to drop it is to cease to hold.
        taken.then(|| SlotsGuard::new(self, turns + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_ceases_to_hold_who_does_not() {
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

    /// Two threads that see the same subject have no place, and one after the other want to give it one.
    #[test]
    fn a_stranger_gets_one_place() {
        let slots = Slots::new(2);
        let guard = slots.hold();
        guard.give(SubjectHash(1));
        guard.give(SubjectHash(2));
        drop(guard);
        let [CountOutcome::Stranger(one), CountOutcome::Stranger(other)] =
            [0; 2].map(|epoch| slots.count_known(SubjectHash(3), epoch))
        else {
            panic!("it has no stripe")
        };
        assert!(slots.count_stranger(SubjectHash(3), 0, one));
        assert!(!slots.count_stranger(SubjectHash(3), 0, other));
        assert!(matches!(slots.count_known(SubjectHash(3), 0), CountOutcome::Unclear), "it is not noted");
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
        assert!(matches!(slots.count_known(SubjectHash(1), 3), CountOutcome::Counted));
        let CountOutcome::Stranger(turns) = slots.count_known(SubjectHash(2), 3) else {
            panic!("it has no stripe")
        };
        assert!(slots.count_stranger(SubjectHash(2), 3, turns));
        assert!(matches!(slots.count_known(SubjectHash(3), 6), CountOutcome::Unclear), "an epoch begins");
        assert!(!slots.count_stranger(SubjectHash(3), 6, turns + 2));
    }
}
