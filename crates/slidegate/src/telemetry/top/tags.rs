//! Tags: a byte of the hash in each slot of a shard, by which unknown subjects are recognised. Read
//! without the guard, changed under it.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::subject_hash::SubjectHash;

/// Maximum number of slots of a shard. Their tags are a quarter of a cache line.
pub(super) const MAX_SLOTS: usize = 16;
const WORDS: usize = MAX_SLOTS / 8;
/// The lowest bit of every byte.
const LOWEST: u64 = u64::MAX / 0xff;
/// All but the highest bit of every byte.
const LOWER: u64 = 0x7f * LOWEST;

/// Tags. Those of consecutive slots are in consecutive words.
#[derive(Default, Debug)]
pub(super) struct Tags([AtomicU64; WORDS]);

impl Tags {
    /// Slots that may be the subject's: those with its tag.
    #[inline(always)]
    pub(super) fn of(&self, hash: SubjectHash) -> SlotMatches {
        let wanted = u64::from(hash.tag()) * LOWEST;
        let mut slots = 0;
        for (bit, word) in self.0.iter().enumerate() {
            slots |= zeros(word.load(Relaxed) ^ wanted) >> (7 - bit);
        }
        SlotMatches(slots)
    }

    /// Sets the tag of a slot.
    #[inline]
    pub(super) fn set(&self, index: usize, hash: SubjectHash) {
        let (word, shift) = (&self.0[index % WORDS], index / WORDS * 8);
        let others = word.load(Relaxed) & !(0xff << shift);
        word.store(others | (u64::from(hash.tag()) << shift), Relaxed);
    }
}

/// The highest bit of every byte that is zero.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & LOWER) + LOWER) | word | LOWER)
}

/// Matching slots, a bit for each: the lowest of a byte for the first word, the next for the next
/// word.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotMatches(u64);

impl Iterator for SlotMatches {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.checked_sub(1)?;
        Some((bit / 8 * WORDS + bit % 8) % MAX_SLOTS)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Slots whose subjects are replaced, compared with an array.
    #[test]
    fn subjects_are_looked_for_where_their_tags_are() {
        let (tags, mut there, mut seed) = (Tags::default(), [SubjectHash(0); MAX_SLOTS], 1_u64);
        (0..MAX_SLOTS).for_each(|index| tags.set(index, there[index]));
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (index, hash) = ((seed >> 59) as usize % MAX_SLOTS, SubjectHash(seed >> 33));
            tags.set(index, hash);
            there[index] = hash;
            for hash in there {
                let alike = (0..MAX_SLOTS).filter(|index| there[*index].tag() == hash.tag());
                assert_eq!(tags.of(hash).collect::<BTreeSet<_>>(), alike.collect(), "{hash:?} in {there:?}");
            }
        }
    }
}
