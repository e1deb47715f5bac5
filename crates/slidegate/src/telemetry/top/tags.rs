//! A byte of everybody who has a place in a shard, by which strangers are told at a glance. Read by everybody, changed by
//! who holds the shard.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::subject_hash::SubjectHash;

/// The most places of a shard. The tags of all of them are a quarter of a cache line.
pub(super) const PLACES: usize = 16;
const WORDS: usize = PLACES / 8;
/// The lowest bit of every byte.
const LOWEST: u64 = u64::MAX / 0xff;
/// All but the highest bit of every byte.
const LOWER: u64 = 0x7f * LOWEST;

/// The tags of places that follow each other are in words that follow each other.
#[derive(Default, Debug)]
pub(super) struct Tags([AtomicU64; WORDS]);

impl Tags {
    /// The places where this subject may be: its own, and those of the few who have its tag.
    #[inline(always)]
    pub(super) fn of(&self, hash: SubjectHash) -> SlotMatches {
        let wanted = u64::from(hash.tag()) * LOWEST;
        let mut places = 0;
        for (bit, word) in self.0.iter().enumerate() {
            places |= zeros(word.load(Relaxed) ^ wanted) >> (7 - bit);
        }
        SlotMatches(places)
    }

    /// This place is somebody else's from now on.
    #[inline]
    pub(super) fn set(&self, stripe: usize, hash: SubjectHash) {
        let (word, shift) = (&self.0[stripe % WORDS], stripe / WORDS * 8);
        let others = word.load(Relaxed) & !(0xff << shift);
        word.store(others | (u64::from(hash.tag()) << shift), Relaxed);
    }
}

/// The highest bit of every byte that is zero.
#[inline(always)]
fn zeros(word: u64) -> u64 {
    !(((word & LOWER) + LOWER) | word | LOWER)
}

/// A bit for each place: of a byte of the first word the lowest, of the same byte of the next word the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotMatches(u64);

impl Iterator for SlotMatches {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0.checked_sub(1)?;
        Some((bit / 8 * WORDS + bit % 8) % PLACES)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Places that change hands, against an array: whoever has a place is looked for there, and nowhere but where its tag is.
    #[test]
    fn subjects_are_looked_for_where_their_tags_are() {
        let (tags, mut there, mut seed) = (Tags::default(), [SubjectHash(0); PLACES], 1_u64);
        (0..PLACES).for_each(|stripe| tags.set(stripe, there[stripe]));
        for _ in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (stripe, hash) = ((seed >> 59) as usize % PLACES, SubjectHash(seed >> 33));
            tags.set(stripe, hash);
            there[stripe] = hash;
            for hash in there {
                let alike = (0..PLACES).filter(|stripe| there[*stripe].tag() == hash.tag());
                assert_eq!(tags.of(hash).collect::<BTreeSet<_>>(), alike.collect(), "{hash:?} in {there:?}");
            }
        }
    }
}
