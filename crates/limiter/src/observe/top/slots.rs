//! The places of a shard. Whoever is known is counted without holding them; they change hands only while somebody holds them.

use std::hint::spin_loop;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use std::thread;

use super::held::Held;
use super::slot::{Slot, Whose};
use super::tags::{PLACES, Tags};
use super::who::Who;

/// All that a stranger costs is in two cache lines: the first, and that of the place which it takes.
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
    pub(super) slots: [Slot; PLACES],
}

/// What came of counting somebody without holding the places.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    Counted,
    /// It has a place, but has to be counted there by who holds the places.
    Own,
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
            slots: [const { Slot::empty() }; PLACES],
        }
    }

    /// Counts whoever is known.
    #[inline(always)]
    pub(super) fn count_known(&self, who: Who, epoch: u32) -> Seen {
        let turns = self.turns.load(Acquire);
        for place in self.tags.of(who) {
            match self.slots[place].raise(who, epoch) {
                Whose::Counted => return Seen::Counted,
                Whose::Own => return Seen::Own,
                Whose::Other => {}
            }
        }
        Seen::Stranger(turns)
    }

    /// Counts a stranger in the place of somebody else, if nothing has changed since it was seen to be one. Says whether it was counted.
    #[inline(always)]
    pub(super) fn count_stranger(&self, who: Who, epoch: u32, turns: u64) -> bool {
        let Some(held) = self.try_hold(turns) else { return false };
        let is_counted = held.epoch() == epoch && !held.has_room();
        if is_counted {
            held.pass_on(who);
        }
        is_counted
    }

    /// Waits for whoever counts a stranger, which takes a few instructions. To be called under a lock, so that nobody waits for more than that.
    pub(super) fn hold(&self) -> Held<'_> {
        const SPINS: usize = 100;
        loop {
            for _ in 0..SPINS {
                match self.try_hold(self.turns.load(Relaxed)) {
                    Some(held) => return held,
                    None => spin_loop(),
                }
            }
            // Its thread does not run.
            thread::yield_now();
        }
    }

    #[inline(always)]
    fn try_hold(&self, turns: u64) -> Option<Held<'_>> {
        let is_free = turns.is_multiple_of(2);
        let taken = is_free && self.turns.compare_exchange(turns, turns + 1, Acquire, Relaxed).is_ok();
        // Not made where it is not held: to drop it is to cease to hold.
        taken.then(|| Held::new(self, turns + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_ceases_to_hold_who_does_not() {
        let slots = Slots::new(1);
        let held = slots.hold();
        for turns in 0..4 {
            assert!(slots.try_hold(turns).is_none(), "{turns}");
            assert!(!slots.count_stranger(Who(1), 0, turns), "{turns}");
        }
        drop(held);
        // Who looked before somebody else had a turn has to look again.
        assert!(slots.try_hold(0).is_none());
        assert!(slots.try_hold(2).is_some());
    }
}
