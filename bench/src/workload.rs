//! Workload: keys as text, in one buffer in their order of arrival.

/// Length of a key, such as `user:00001234`.
const KEY_BYTES: usize = 13;

/// Distribution of the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spread {
    /// All keys are equally frequent.
    Uniform,
    /// The key of rank r in proportion to 1/r.
    Zipf,
}

impl Spread {
    /// The spreads that differ for this many keys.
    pub fn of(keys: u64) -> &'static [Self] {
        if keys == 1 { &[Self::Uniform] } else { &[Self::Uniform, Self::Zipf] }
    }
}

/// Arrivals in order. They are read from front to back, so the bytes of the next key are in the
/// cache for every contender, as the bytes of a request are that was just parsed.
#[derive(Debug)]
pub struct Arrivals {
    text: String,
}

/// A stretch of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Keys<'a> {
    text: &'a str,
}

impl Arrivals {
    /// `count` arrivals of `keys` different keys, the same ones on every run.
    pub fn random(keys: u64, spread: Spread, count: usize) -> Self {
        let mut random = Random(0x5eed ^ keys);
        let zipf = Zipf::new(keys);
        let ids = (0..count).map(|_| match spread {
            Spread::Uniform => random.below(keys),
            Spread::Zipf => scatter(zipf.rank(&mut random) - 1, keys),
        });
        Self::of(ids)
    }

    /// Workload of each of these keys `times` times in a row.
    pub fn each(keys: std::ops::Range<u64>, times: usize) -> Self {
        Self::of(keys.flat_map(|id| std::iter::repeat_n(id, times)))
    }

    fn of(ids: impl Iterator<Item = u64>) -> Self {
        use std::fmt::Write;
        let mut text = String::with_capacity(ids.size_hint().0 * KEY_BYTES);
        for id in ids {
            write!(text, "user:{id:08}").expect("a string takes what is written");
        }
        Self { text }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.text.len() / KEY_BYTES
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// All keys.
    pub fn all(&self) -> Keys<'_> {
        Keys { text: &self.text }
    }

    /// `count` arrivals from the `at`-th on; past the end it begins anew.
    pub fn stretch(&self, at: usize, count: usize) -> Keys<'_> {
        let at = at % (self.len() - count + 1);
        Keys { text: &self.text[at * KEY_BYTES..(at + count) * KEY_BYTES] }
    }
}

impl<'a> Keys<'a> {
    /// Number of keys.
    pub fn len(&self) -> usize {
        self.text.len() / KEY_BYTES
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The first one in `parts` of them.
    pub fn part(&self, parts: usize) -> Self {
        Self { text: &self.text[..self.len() / parts * KEY_BYTES] }
    }

    /// Calls a function with each key, in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let text = self.text;
        (0..self.len()).map(move |index| &text[index * KEY_BYTES..(index + 1) * KEY_BYTES])
    }
}

/// Spreads ranks over ids one to one, so that frequent keys do not lie side by side in memory
/// because they were inserted one after the other.
fn scatter(rank: u64, keys: u64) -> u64 {
    // A prime above every key count in use has no factor in common with it.
    const PRIME: u64 = 2_654_435_761;
    rank * PRIME % keys
}

/// SplitMix64.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below the bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from 0 to 1, which is not among them.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Zipf's law with exponent 1, by rejection-inversion (Hörmann and Derflinger): exact, and without
/// a table.
struct Zipf {
    keys: f64,
    low: f64,
    high: f64,
}

impl Zipf {
    fn new(keys: u64) -> Self {
        let keys = keys as f64;
        Self { keys, low: 1.5_f64.ln() - 1.0, high: (keys + 0.5).ln() }
    }

    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.high + random.unit() * (self.low - self.high);
            let rank = area.exp().round().clamp(1.0, self.keys);
            if area >= (rank + 0.5).ln() - rank.recip() {
                return rank as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_as_they_were_laid_out() {
        let arrivals = Arrivals::each(7..9, 2);
        let keys: Vec<&str> = arrivals.all().iter().collect();
        assert_eq!(keys, ["user:00000007", "user:00000007", "user:00000008", "user:00000008"]);
        assert_eq!(arrivals.stretch(1, 2).iter().collect::<Vec<_>>(), keys[1..3]);
    }

    #[test]
    fn ranks_follow_the_law() {
        const DRAWS: usize = 1_000_000;
        let (zipf, mut random) = (Zipf::new(1_000), Random(1));
        let mut draws = [0_usize; 1_001];
        (0..DRAWS).for_each(|_| draws[zipf.rank(&mut random) as usize] += 1);
        let harmonic: f64 = (1..=1_000).map(|rank| f64::from(rank).recip()).sum();
        for rank in [1, 2, 3, 10, 100] {
            let expected = DRAWS as f64 / harmonic / rank as f64;
            // Five standard deviations of a count that is nearly Poisson; the seed is fixed.
            assert!((draws[rank] as f64 - expected).abs() < 5.0 * expected.sqrt(), "rank {rank}");
        }
        assert_eq!(draws[0], 0);
    }

    #[test]
    fn scattering_is_one_to_one() {
        let mut ids: Vec<u64> = (0..1_000).map(|rank| scatter(rank, 1_000)).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..1_000));
    }
}
