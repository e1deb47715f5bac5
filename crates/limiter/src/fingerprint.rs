//! 128 bits that stand for a subject, under a random secret.
//!
//! Multilinear hashing (Carter and Wegman) in two lanes, each the upper half of `Σ kᵢ·wᵢ mod 2^128` over the 64-bit words
//! w of the input, with random 128-bit k. For any two different inputs of one block the upper half of the difference is
//! uniform, so that (a carry set aside) they agree in both lanes with probability 2^−126 at most, whatever they are: whoever does not know the secret cannot choose keys that collide, and every bit is uniform, so that the table
//! needs no further mixing. Longer inputs chain blocks; each adds 2^−126.
//!
//! Space and length are added to the result: a shift leaves the bound as it is, and the same words at another length, or
//! in another space, never collide.

use sha2::{Digest, Sha256};

use crate::key::{Key, Space};

/// The random secret of one store, from which its multipliers are derived.
pub(crate) type Seed = [u8; 32];

/// What a store keeps of a subject instead of the subject itself.
pub(crate) type Fingerprint = [u64; 2];

const WORDS: usize = 8;
const FIRST_BYTES: usize = 8 * WORDS;
/// Later blocks begin with the sum so far.
const NEXT_BYTES: usize = 8 * (WORDS - 2);

#[derive(Clone, Debug)]
pub(crate) struct Fingerprints {
    seed: Seed,
    multiply: [[u128; 2]; WORDS],
}

/// The two lanes.
#[derive(Clone, Copy, Debug)]
struct Sum([u128; 2]);

impl Sum {
    const ZERO: Self = Self([0, 0]);

    #[inline(always)]
    fn plus(self, [first, second]: [u128; 2], word: u64) -> Self {
        let (Self([one, two]), word) = (self, u128::from(word));
        Self([one.wrapping_add(first.wrapping_mul(word)), two.wrapping_add(second.wrapping_mul(word))])
    }

    #[inline(always)]
    fn upper(self) -> Fingerprint {
        self.0.map(|lane| (lane >> 64) as u64)
    }
}

impl Fingerprints {
    pub(crate) fn new(seed: Seed) -> Self {
        let pair = |index: u8| {
            let digest = Sha256::new().chain_update(seed).chain_update([index]).finalize();
            let (halves, _) = digest.as_chunks::<16>();
            [0, 1].map(|half| u128::from_le_bytes(halves[half]))
        };
        Self { seed, multiply: std::array::from_fn(|word| pair(word as u8)) }
    }

    pub(crate) fn seed(&self) -> &Seed {
        &self.seed
    }

    #[inline(always)]
    pub(crate) fn of(&self, Space(space): Space, key: &Key<'_>) -> Fingerprint {
        let bytes = key.bytes();
        let length = (bytes.len() as u64) << 1 | key.form() as u64;
        let [high, low] = match (bytes.first_chunk(), bytes.last_chunk()) {
            // The common lengths without a loop.
            (Some(first), Some(last)) if bytes.len() <= 16 => {
                let sum = Sum::ZERO.plus(self.multiply[0], u64::from_le_bytes(*first));
                sum.plus(self.multiply[1], u64::from_le_bytes(*last)).upper()
            }
            _ => self.any_length(bytes),
        };
        [high.wrapping_add(space[0]), low.wrapping_add(space[1]).wrapping_add(length)]
    }

    #[cold]
    #[inline(never)]
    fn any_length(&self, bytes: &[u8]) -> Fingerprint {
        let (first, rest) = bytes.split_at(bytes.len().min(FIRST_BYTES));
        let mut sum = self.absorb(Sum::ZERO, 0, first);
        for block in rest.chunks(NEXT_BYTES) {
            let [one, two] = sum.upper();
            sum = Sum::ZERO.plus(self.multiply[0], one).plus(self.multiply[1], two);
            sum = self.absorb(sum, 2, block);
        }
        sum.upper()
    }

    /// Takes in at most a block. The last word may overlap the one before it: given the length, which is part of
    /// the input, the words still tell every byte.
    fn absorb(&self, mut sum: Sum, from: usize, bytes: &[u8]) -> Sum {
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
