//! Fingerprint of a subject: 128 bits of a keyed hash.
//!
//! Multilinear hashing (Carter and Wegman) as two sums, each the upper half of `Σ kᵢ·wᵢ mod 2^128`
//! over the 64-bit words w of the input, with random 128-bit k. For any two different inputs of one
//! block the upper half of the difference is uniform, so (up to a carry) both sums agree with
//! probability 2^−126 at most, whatever the inputs: without the secret, nobody can choose keys that
//! collide. Longer inputs chain blocks; each adds 2^−126.
//!
//! Space and length are added to the result: a shift leaves the bound as it is, and the same words
//! at another length, or in another space, never collide.

use sha2::{Digest, Sha256};

use crate::key::{Key, Space};

/// Random secret of one store, from which its multipliers are derived.
pub type Seed = [u8; 32];

/// Fingerprint of a subject, which a store has instead of the subject itself. A pair, which is
/// passed in two registers, where an array would go through memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Fingerprint(pub u64, pub u64);

impl Fingerprint {
    /// Home bucket in a table, modulo its size.
    #[inline(always)]
    pub fn home(self) -> usize {
        (scatter(self.0) >> 32) as usize
    }

    /// Index of its part, of this many.
    #[inline(always)]
    pub fn below(self, parts: usize) -> usize {
        ((u128::from(scatter(self.1)) * parts as u128) >> 64) as usize
    }
}

/// Mixes a half. Sums are linear: consecutive keys lie on a lattice, and with some secrets on a
/// coarse one, which would fill some parts of a table and leave others empty. Folding the halves
/// into each other breaks it up. The factor is odd, and has the bits of the golden ratio.
#[inline(always)]
fn scatter(half: u64) -> u64 {
    (half ^ half >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

const WORDS: usize = 8;
const FIRST_BYTES: usize = 8 * WORDS;
/// Later blocks begin with the sum so far.
const NEXT_BYTES: usize = 8 * (WORDS - 2);

/// Keyed hash that makes fingerprints.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    seed: Seed,
    multiply: [[u128; 2]; WORDS],
    /// Multipliers of the length, for keys outside the common lengths.
    multiply_length: [u128; 2],
}

/// Two sums.
#[derive(Clone, Copy, Debug)]
struct PairSum([u128; 2]);

impl PairSum {
    const ZERO: Self = Self([0, 0]);

    #[inline(always)]
    fn plus(self, [first, second]: [u128; 2], word: u64) -> Self {
        let (Self([one, two]), word) = (self, u128::from(word));
        Self([one.wrapping_add(first.wrapping_mul(word)), two.wrapping_add(second.wrapping_mul(word))])
    }

    #[inline(always)]
    fn upper(self) -> Fingerprint {
        let [one, two] = self.0.map(|sum| (sum >> 64) as u64);
        Fingerprint(one, two)
    }
}

impl Fingerprints {
    /// Hash with a secret.
    pub fn new(seed: Seed) -> Self {
        let pair = |index: u8| {
            let digest = Sha256::new().chain_update(seed).chain_update([index]).finalize();
            let (halves, _) = digest.as_chunks::<16>();
            [0, 1].map(|half| u128::from_le_bytes(halves[half]))
        };
        let multiply = std::array::from_fn(|word| pair(word as u8));
        Self { seed, multiply, multiply_length: pair(WORDS as u8) }
    }

    /// Its secret.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// Fingerprint of a key in a space.
    #[inline(always)]
    pub fn of(&self, Space(space): Space, key: &Key<'_>) -> Fingerprint {
        let bytes = key.bytes();
        let length = (bytes.len() as u64) << 1 | key.form() as u64;
        let Fingerprint(one, two) = match (bytes.first_chunk(), bytes.last_chunk()) {
            // The common lengths without a loop.
            (Some(first), Some(last)) if bytes.len() <= 16 => {
                let sum = PairSum::ZERO.plus(self.multiply[0], u64::from_le_bytes(*first));
                sum.plus(self.multiply[1], u64::from_le_bytes(*last)).upper()
            }
            _ => self.any_length(bytes),
        };
        Fingerprint(one.wrapping_add(space[0]), two.wrapping_add(space[1]).wrapping_add(length))
    }

    #[cold]
    #[inline(never)]
    fn any_length(&self, bytes: &[u8]) -> Fingerprint {
        let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
        // Zeros add nothing to a sum: without the length in it, keys of zeros would all have one
        // home in the table.
        let start = PairSum::ZERO.plus(self.multiply_length, bytes.len() as u64);
        let mut sum = self.absorb(start, 0, first);
        for block in rest.chunks(NEXT_BYTES) {
            let Fingerprint(one, two) = sum.upper();
            sum = PairSum::ZERO.plus(self.multiply[0], one).plus(self.multiply[1], two);
            sum = self.absorb(sum, 2, block);
        }
        sum.upper()
    }

    /// Adds at most a block. The last word may overlap the one before it: given the length, which
    /// is part of the input, the words still determine every byte.
    fn absorb(&self, mut sum: PairSum, from: usize, bytes: &[u8]) -> PairSum {
        let (words, rest) = bytes.as_chunks::<8>();
        for (word, multiplier) in words.iter().zip(&self.multiply[from..]) {
            sum = sum.plus(*multiplier, u64::from_le_bytes(*word));
        }
        if rest.is_empty() {
            return sum;
        }
        let last = match bytes.last_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => short(bytes),
        };
        sum.plus(self.multiply[from + words.len()], last)
    }
}

/// One to seven bytes as a word, without a loop.
fn short(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => {
            let (first, middle, last) = (bytes[0], bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
            u64::from(first) | u64::from(middle) << 8 | u64::from(last) << 16
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn fingerprints() -> Fingerprints {
        Fingerprints::new([42; 32])
    }

    fn of(bytes: &[u8]) -> Fingerprint {
        fingerprints().of(Space([1, 2]), &bytes.into())
    }

    /// Keys that differ in one bit, or in nothing but their length, at all lengths around the edges
    /// of words and blocks.
    #[test]
    fn every_length_and_bit_counts() {
        let fingerprints = fingerprints();
        let mut all = HashSet::new();
        for length in 0..=200_usize {
            for fill in [0_u8, b'a', 255] {
                let mut bytes = vec![fill; length];
                let mut insert = |bytes: &[u8]| {
                    assert!(all.insert(fingerprints.of(Space([1, 2]), &bytes.into())), "{bytes:?}");
                };
                if length > 0 || fill == 0 {
                    insert(&bytes);
                }
                for bit in 0..8 * length {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    insert(&bytes);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }

    /// The first half finds a place in a table, the second a shard: each bit of both is set for
    /// half of the keys.
    #[test]
    fn every_bit_is_balanced() {
        const KEYS: u32 = 20_000;
        let shapes: [fn(u32) -> Vec<u8>; 5] = [
            |n| n.to_string().into_bytes(),
            |n| format!("user-{n}").into_bytes(),
            |n| format!("user-{n}@example.com, a longer one").into_bytes(),
            |n| u64::from(n).to_le_bytes().to_vec(),
            |n| vec![0; n as usize / 8],
        ];
        for (layout, make) in shapes.into_iter().enumerate() {
            let keys: HashSet<Vec<u8>> = (0..KEYS).map(make).collect();
            let mut set = [0_u32; 128];
            for key in &keys {
                let Fingerprint(high, low) = of(key);
                (0..64).for_each(|bit| {
                    set[bit] += (high >> bit) as u32 & 1;
                    set[64 + bit] += (low >> bit) as u32 & 1;
                });
            }
            // Eight standard deviations on either side of a half.
            let (half, most) = (keys.len() as f64 / 2.0, 4.0 * (keys.len() as f64).sqrt());
            for (bit, count) in set.into_iter().enumerate() {
                let off = (f64::from(count) - half).abs();
                assert!(off <= most, "layout {layout}, bit {bit}: {count} of {}", keys.len());
            }
        }
    }

    /// Keys of nothing but zeros add nothing to a sum: their lengths alone have to spread them over
    /// the table.
    #[test]
    fn zeros_of_many_lengths_have_many_homes() {
        let homes: HashSet<usize> = (0..4_096).map(|length| of(&vec![0; length]).home() & 8_191).collect();
        assert!(homes.len() > 3_000, "only {} homes", homes.len());
    }

    /// Keys that follow one another, as ids do, lie on a lattice before the last step, and some
    /// secrets make that a coarse one.
    #[test]
    fn keys_in_a_row_spread_like_any_others() {
        const KEYS: usize = 8_000;
        const PARTS: usize = 16;
        for seed in 0..1_000_u16 {
            let mut secret = [0; 32];
            secret[..2].copy_from_slice(&seed.to_le_bytes());
            let fingerprints = Fingerprints::new(secret);
            let (mut shards, mut homes) = ([0; PARTS], [0; PARTS]);
            for n in 0..KEYS as u64 {
                let fingerprint = fingerprints.of(Space([1, 2]), &(1_000_000 + n).into());
                shards[fingerprint.below(PARTS)] += 1;
                homes[fingerprint.home() % PARTS] += 1;
            }
            // A share has a standard deviation of 22: none of these 32,000 is six of them off.
            for share in shards.into_iter().chain(homes) {
                assert!((KEYS / PARTS).abs_diff(share) < 132, "seed {seed}: {shards:?} {homes:?}");
            }
        }
    }
}
