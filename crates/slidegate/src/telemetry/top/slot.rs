//! A place of a shard: whose it is, and how often that subject was counted. Whoever is known is counted here without a lock.
//!
//! A place is a word and the fingerprint of whom it belongs to. The word is the epoch's number (15 bits) and the count (48 bits). Within an epoch
//! counts only grow, also when the place changes hands, and no word of a subject that is noted comes twice. So a word that has not changed since it was read still
//! belongs to the fingerprint that was read after it:
//!
//! - the fingerprint is not older than the word, because a word that can be raised is released after its fingerprint, and only raised since;
//! - it is not newer, because then the place was [`VACANT`] before it was stored, and the word has changed.
//!
//! Only who holds the shard raises the word of a place that is [`NAMELESS`], so such a place changes hands without being vacant in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::subject_hash::SubjectHash;

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The word of a place that is nobody's, or is about to change hands.
const VACANT: u64 = u64::MAX;
/// Set in the word of a place whose subject was counted in it only when it took it: nobody has noted who that is.
const NAMELESS: u64 = 1 << 63;

/// Never in two cache lines.
#[derive(Debug)]
#[repr(align(16))]
pub(super) struct Slot {
    word: AtomicU64,
    hash: AtomicU64,
}

/// Occupant of a slot, and how often it was counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotContents {
    pub(super) hash: SubjectHash,
    pub(super) count: u64,
    pub(super) is_nameless: bool,
}

/// Occupant of a slot at the time of a look-up.
pub(super) enum SlotMatch {
    /// Its own, and it was counted.
    Counted,
    /// Its own, but it has to be counted by who holds the shard.
    Own,
    Other,
}

/// What stands above the counts of an epoch, never that of [`VACANT`].
#[inline(always)]
fn mark(epoch: u32) -> u64 {
    u64::from(epoch & 0x7fff)
}

impl Slot {
    pub(super) const fn empty() -> Self {
        Self { word: AtomicU64::new(VACANT), hash: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub(super) fn belongs_to(&self, SubjectHash(hash): SubjectHash) -> bool {
        self.hash.load(Acquire) == hash
    }

    /// Counts this subject, if it has this slot.
    #[inline(always)]
    pub(super) fn raise(&self, hash: SubjectHash, epoch: u32) -> SlotMatch {
        let mut word = self.word.load(Acquire);
        loop {
            if !self.belongs_to(hash) {
                return SlotMatch::Other;
            }
            if word >> COUNT_BITS != mark(epoch) {
                return SlotMatch::Own;
            }
            match self.word.compare_exchange_weak(word, word + 1, Relaxed, Acquire) {
                Ok(_) => return SlotMatch::Counted,
                Err(changed) => word = changed,
            }
        }
    }

    /// Under the guard: counts whose place it is. What was its count, if it has to be noted who that is.
    pub(super) fn raise_own(&self) -> Option<u64> {
        let before = self.word.load(Relaxed);
        if before & NAMELESS == 0 {
            self.word.fetch_add(1, Relaxed);
            return None;
        }
        self.word.store((before & !NAMELESS) + 1, Release);
        Some(before & COUNT)
    }

    /// Under the guard: takes the place from whoever has it with this count, unless it was just counted.
    #[inline(always)]
    pub(super) fn take(&self, count: u64) -> bool {
        let word = self.word.load(Relaxed);
        let swap = || self.word.compare_exchange(word, VACANT, Relaxed, Relaxed).is_ok();
        // The word of whoever is nameless does not change now.
        word & COUNT == count && (word & NAMELESS != 0 || swap())
    }

    /// Under the guard: gives a place that nobody has to somebody who is noted.
    pub(super) fn give(&self, hash: SubjectHash, epoch: u32) {
        self.set(hash, mark(epoch) << COUNT_BITS | 1);
    }

    /// Under the guard: gives a place that was taken to somebody who is not noted and goes on from this count.
    #[inline(always)]
    pub(super) fn pass_on(&self, hash: SubjectHash, epoch: u32, count: u64) {
        self.set(hash, NAMELESS | mark(epoch) << COUNT_BITS | (count + 1));
    }

    #[inline(always)]
    fn set(&self, SubjectHash(hash): SubjectHash, word: u64) {
        self.hash.store(hash, Release);
        self.word.store(word, Release);
    }

    /// Under the guard: whose it is.
    pub(super) fn read(&self) -> SlotContents {
        self.contents(self.word.load(Relaxed))
    }

    /// Under the guard: takes it from whoever has it.
    pub(super) fn clear(&self) -> SlotContents {
        self.contents(self.word.swap(VACANT, Relaxed))
    }

    fn contents(&self, word: u64) -> SlotContents {
        let hash = SubjectHash(self.hash.load(Relaxed));
        SlotContents { hash, count: word & COUNT, is_nameless: word & NAMELESS != 0 }
    }
}
