//! The counts of a shard. Whoever is known is counted here without the shard's lock; places change hands only under it.
//!
//! A place is a word and the fingerprint of whom it belongs to. The word is the epoch's number (15 bits) and the count (48 bits). Within an epoch
//! counts only grow, also when the place changes hands, so a word that has not changed since it was read still belongs to
//! the fingerprint that was read after it. While a place changes hands its word is [`HELD`]. Without the lock nobody raises that, nor the word
//! of a place that is [`NAMELESS`].

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::cells::Cells;
use super::who::Who;

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const HELD: u64 = u64::MAX;
/// Set in the word of a place whose subject was counted in it only when it took it: nobody has noted who that is.
const NAMELESS: u64 = 1 << 63;

/// Never in two cache lines.
#[derive(Debug)]
#[repr(align(16))]
struct Slot {
    word: AtomicU64,
    who: AtomicU64,
}

impl Slot {
    #[inline]
    fn belongs_to(&self, Who(who): Who) -> bool {
        self.who.load(Acquire) == who
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    cells: Cells,
}

/// How far the search for the smallest count has come in an epoch. Counts only grow: no place has a smaller one than this, and those
/// before `next` have a larger one. So a crowd of strangers, each of whom takes a place, costs a look or two each.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Least {
    count: u64,
    next: usize,
}

/// Who has a place, and how often it was counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Had {
    pub(super) who: Who,
    pub(super) count: u64,
    pub(super) is_nameless: bool,
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

/// What stands above the counts of an epoch, never that of [`HELD`].
#[inline]
fn mark(epoch: u64) -> u64 {
    epoch & 0x7fff
}

impl Slots {
    /// At most 127.
    pub(super) fn new(places: usize) -> Self {
        let slot = |_| Slot { word: AtomicU64::new(HELD), who: AtomicU64::new(0) };
        Self { slots: (0..places).map(slot).collect(), cells: Cells::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Counts whoever is where it is looked for first. Says whether it was counted.
    #[inline(always)]
    pub(super) fn raise(&self, who: Who, epoch: u64) -> bool {
        let Some(slot) = self.slots.get(self.cells.guess(who)) else { return false };
        let mut word = slot.word.load(Acquire);
        loop {
            if word >> COUNT_BITS != mark(epoch) || !slot.belongs_to(who) {
                return false;
            }
            match slot.word.compare_exchange_weak(word, word + 1, Relaxed, Acquire) {
                Ok(_) => return true,
                Err(changed) => word = changed,
            }
        }
    }

    /// Under the lock: counts whoever has one of the first so many places.
    pub(super) fn raise_anywhere(&self, who: Who, used: usize) -> Raised {
        let Some(place) = self.place_of(who, used) else { return Raised::NoPlace };
        let word = &self.slots[place].word;
        let before = word.load(Relaxed);
        if before & NAMELESS == 0 {
            word.fetch_add(1, Relaxed);
            return Raised::Yes;
        }
        word.store((before & !NAMELESS) + 1, Release);
        Raised::NowNamed { place, before: before & COUNT }
    }

    fn place_of(&self, who: Who, used: usize) -> Option<usize> {
        let (used, guess) = (&self.slots[..used], self.cells.guess(who));
        if used.get(guess).is_some_and(|slot| slot.belongs_to(who)) {
            return Some(guess);
        }
        if !self.cells.may_be_elsewhere(who) {
            return None;
        }
        let place = used.iter().position(|slot| slot.belongs_to(who))?;
        self.cells.find(who, place);
        Some(place)
    }

    /// Takes a place with the smallest count from whoever has it.
    fn take_smallest(&self, least: &mut Least) -> (usize, u64) {
        loop {
            while let Some(slot) = self.slots.get(least.next) {
                let (place, word) = (least.next, slot.word.load(Relaxed));
                least.next += 1;
                // Not if it was just counted.
                let is_least = word & COUNT == least.count;
                if is_least && slot.word.compare_exchange(word, HELD, Acquire, Relaxed).is_ok() {
                    self.cells.leave(Who(slot.who.load(Relaxed)), place);
                    return (place, least.count);
                }
            }
            let counts = self.slots.iter().map(|slot| slot.word.load(Relaxed) & COUNT);
            *least = Least { count: counts.min().expect("there is a place"), next: 0 };
        }
    }

    /// Under the lock: gives a place that nobody has to somebody who is noted.
    pub(super) fn give(&self, place: usize, who: Who, epoch: u64) {
        self.set(place, who, mark(epoch) << COUNT_BITS | 1);
    }

    /// Under the lock: gives the place with the smallest count to somebody else, who goes on from there.
    pub(super) fn pass_on(&self, who: Who, epoch: u64, least: &mut Least) {
        let (place, count) = self.take_smallest(least);
        self.set(place, who, NAMELESS | mark(epoch) << COUNT_BITS | (count + 1));
    }

    fn set(&self, place: usize, who: Who, word: u64) {
        let slot = &self.slots[place];
        slot.who.store(who.0, Release);
        slot.word.store(word, Release);
        self.cells.enter(who, place);
    }

    /// Under the lock: who has this place.
    pub(super) fn read(&self, place: usize) -> Had {
        let Slot { word, who } = &self.slots[place];
        had(who, word.load(Relaxed))
    }

    /// Under the lock: takes a place from whoever has it, and says who it was.
    pub(super) fn take(&self, place: usize) -> Had {
        let Slot { word, who } = &self.slots[place];
        let had = had(who, word.swap(HELD, Acquire));
        self.cells.leave(had.who, place);
        had
    }
}

fn had(who: &AtomicU64, word: u64) -> Had {
    Had { who: Who(who.load(Relaxed)), count: word & COUNT, is_nameless: word & NAMELESS != 0 }
}
