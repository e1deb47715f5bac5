//! Slot of a shard: a subject and its count. A subject with a label is counted without a lock.
//!
//! A slot is a word and the hash of its subject. The word is the number of the epoch (15 bits) and
//! the count (48 bits). Within an epoch counts only grow, also when the subject is replaced, and no
//! word of a labelled subject occurs twice. So a word that has not changed since it was read still
//! belongs to the hash that was read after it:
//!
//! - the hash is not older than the word, because a word that can be raised is released after its
//!   hash, and only raised since;
//! - it is not newer, because then the slot was [`VACANT`] before it was stored, and the word has
//!   changed.
//!
//! Only the guard raises the word of a slot that is [`UNLABELLED`], so the subject of such a slot
//! is replaced without being vacant in between.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::subject_hash::SubjectHash;

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// Word of a slot without a subject, or whose subject is being replaced.
const VACANT: u64 = u64::MAX;
/// Bit in the word of a slot whose subject was counted only when it replaced another: it has no
/// label.
const UNLABELLED: u64 = 1 << 63;

/// Slot, aligned so that it is never in two cache lines.
#[derive(Debug)]
#[repr(align(16))]
pub(super) struct TopSlot {
    word: AtomicU64,
    hash: AtomicU64,
}

/// Subject of a slot and its count.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotContents {
    pub(super) hash: SubjectHash,
    pub(super) count: u64,
    pub(super) is_unlabelled: bool,
}

/// Result of counting in a slot.
pub(super) enum SlotMatch {
    /// It is the subject's slot, and it was counted.
    Counted,
    /// It is the subject's slot, but only the guard can count it.
    Own,
    Other,
}

/// Upper bits of the words of an epoch, never those of [`VACANT`].
#[inline(always)]
fn mark(epoch: u32) -> u64 {
    u64::from(epoch & 0x7fff)
}

impl TopSlot {
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

    /// Under the guard: counts the subject. Returns its count before, if it needs a label.
    pub(super) fn raise_own(&self) -> Option<u64> {
        let before = self.word.load(Relaxed);
        if before & UNLABELLED == 0 {
            self.word.fetch_add(1, Relaxed);
            return None;
        }
        self.word.store((before & !UNLABELLED) + 1, Release);
        Some(before & COUNT)
    }

    /// Under the guard: removes the subject if it has this count.
    #[inline(always)]
    pub(super) fn take(&self, count: u64) -> bool {
        let word = self.word.load(Relaxed);
        let swap = || self.word.compare_exchange(word, VACANT, Relaxed, Relaxed).is_ok();
        // The word of an unlabelled subject changes only under the guard.
        word & COUNT == count && (word & UNLABELLED != 0 || swap())
    }

    /// Under the guard: assigns a free slot to a labelled subject.
    pub(super) fn give(&self, hash: SubjectHash, epoch: u32) {
        self.set(hash, mark(epoch) << COUNT_BITS | 1);
    }

    /// Under the guard: assigns a removed subject's slot to an unlabelled one, which continues from
    /// this count.
    #[inline(always)]
    pub(super) fn replace(&self, hash: SubjectHash, epoch: u32, count: u64) {
        self.set(hash, UNLABELLED | mark(epoch) << COUNT_BITS | (count + 1));
    }

    #[inline(always)]
    fn set(&self, SubjectHash(hash): SubjectHash, word: u64) {
        self.hash.store(hash, Release);
        self.word.store(word, Release);
    }

    /// Under the guard: subject and count.
    pub(super) fn read(&self) -> SlotContents {
        self.contents(self.word.load(Relaxed))
    }

    /// Under the guard: removes the subject.
    pub(super) fn clear(&self) -> SlotContents {
        self.contents(self.word.swap(VACANT, Relaxed))
    }

    fn contents(&self, word: u64) -> SlotContents {
        let hash = SubjectHash(self.hash.load(Relaxed));
        SlotContents { hash, count: word & COUNT, is_unlabelled: word & UNLABELLED != 0 }
    }
}
