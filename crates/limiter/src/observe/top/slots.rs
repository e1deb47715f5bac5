//! The counts of a shard. Whoever is known is counted here without the shard's lock; places change hands only under it.
//!
//! A place is a word and the fingerprint of whom it belongs to. The word is the epoch's number (16 bits) and the count (48 bits). Within an epoch
//! it only grows, also when the place changes hands, so a word that has not changed since it was read still belongs to
//! the fingerprint that was read after it. While a place changes hands its word is [`HELD`], which nobody raises.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU8, AtomicU64};

use crate::fingerprint::Fingerprint;

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
const HELD: u64 = u64::MAX;
/// Where a fingerprint's place probably is. A guess: it is compared there.
const HINTS: usize = 1_024;

/// Half a cache line, and never in two.
#[derive(Debug)]
#[repr(align(32))]
struct Slot {
    word: AtomicU64,
    one: AtomicU64,
    two: AtomicU64,
}

impl Slot {
    #[inline]
    fn belongs_to(&self, Fingerprint(one, two): Fingerprint) -> bool {
        self.one.load(Acquire) == one && self.two.load(Acquire) == two
    }
}

#[derive(Debug)]
pub(super) struct Slots {
    slots: Box<[Slot]>,
    hints: [AtomicU8; HINTS],
}

#[inline]
fn empty(epoch: u64) -> u64 {
    epoch << COUNT_BITS
}

impl Slots {
    /// At most 256.
    pub(super) fn new(places: usize) -> Self {
        let slot = |_| Slot { word: AtomicU64::new(HELD), one: AtomicU64::new(0), two: AtomicU64::new(0) };
        Self { slots: (0..places).map(slot).collect(), hints: [const { AtomicU8::new(0) }; HINTS] }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Counts whoever is where it is looked for first. Says whether it was counted.
    #[inline]
    pub(super) fn raise(&self, fingerprint: Fingerprint, epoch: u64) -> bool {
        let hint = self.hints[fingerprint.home() % HINTS].load(Relaxed);
        let Some(slot) = self.slots.get(usize::from(hint)) else { return false };
        let mut word = slot.word.load(Acquire);
        loop {
            // What is held has the largest count of all.
            let is_counting = word & !COUNT == empty(epoch) && word & COUNT != COUNT;
            if !is_counting || !slot.belongs_to(fingerprint) {
                return false;
            }
            match slot.word.compare_exchange_weak(word, word + 1, Relaxed, Acquire) {
                Ok(_) => return true,
                Err(changed) => word = changed,
            }
        }
    }

    /// Under the lock: counts whoever has one of the first so many places.
    pub(super) fn raise_anywhere(&self, fingerprint: Fingerprint, used: usize) -> bool {
        let place = self.slots[..used].iter().position(|slot| slot.belongs_to(fingerprint));
        if let Some(place) = place {
            self.slots[place].word.fetch_add(1, Relaxed);
            self.remember(fingerprint, place);
        }
        place.is_some()
    }

    /// Under the lock: takes the place with the smallest count from whoever has it.
    pub(super) fn take_smallest(&self) -> (usize, u64) {
        loop {
            let words = self.slots.iter().map(|slot| slot.word.load(Relaxed));
            let (place, word) = words.enumerate().min_by_key(|(_, word)| *word).expect("there is a place");
            // Not if it was just counted.
            if self.slots[place].word.compare_exchange(word, HELD, Acquire, Relaxed).is_ok() {
                return (place, word & COUNT);
            }
        }
    }

    /// Under the lock: gives a place that nobody has.
    pub(super) fn give(&self, place: usize, fingerprint: Fingerprint, (epoch, count): (u64, u64)) {
        let slot = &self.slots[place];
        slot.one.store(fingerprint.0, Release);
        slot.two.store(fingerprint.1, Release);
        slot.word.store(empty(epoch) | count, Release);
        self.remember(fingerprint, place);
    }

    /// Under the lock: who has this place, and its count.
    pub(super) fn read(&self, place: usize) -> (Fingerprint, u64) {
        let Slot { word, one, two } = &self.slots[place];
        (Fingerprint(one.load(Relaxed), two.load(Relaxed)), word.load(Relaxed) & COUNT)
    }

    /// Under the lock: takes a place from whoever has it, and says who it was.
    pub(super) fn take(&self, place: usize) -> (Fingerprint, u64) {
        let (fingerprint, _) = self.read(place);
        (fingerprint, self.slots[place].word.swap(HELD, Acquire) & COUNT)
    }

    fn remember(&self, fingerprint: Fingerprint, place: usize) {
        self.hints[fingerprint.home() % HINTS].store(place as u8, Relaxed);
    }
}
