//! Hash table with open addressing and linear probing, keyed by fingerprints.
//!
//! Instead of a general hash table: fingerprints are uniform, so the home of an item is a mask away
//! and no control bytes have to be read first. That is one cache miss for a look-up where hashbrown has
//! two, and a third of the instructions (the figures are in docs/decisions/003-own-hash-table.md).
//! Deletion moves the followers back, so there is nothing to clean up.

use crate::fingerprint::Fingerprint;

/// Item with a fingerprint.
pub(super) trait Keyed {
    fn fingerprint(&self) -> Fingerprint;
}

/// Maximum load, four fifths: beyond that, probe sequences get long.
const LOAD_NUMERATOR: usize = 4;
const LOAD_DENOMINATOR: usize = 5;
const FIRST_BUCKETS: usize = 8;

#[derive(Debug)]
pub(super) struct Table<T> {
    /// Buckets, a power of two or none.
    buckets: Vec<Option<T>>,
    len: usize,
}

/// Maximum number of items of a table with this many buckets.
pub(super) const fn capacity(buckets: usize) -> usize {
    buckets * LOAD_NUMERATOR / LOAD_DENOMINATOR
}

/// Number of buckets after growth.
pub(super) const fn next_buckets(buckets: usize) -> usize {
    if buckets == 0 { FIRST_BUCKETS } else { 2 * buckets }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { buckets: Vec::new(), len: 0 }
    }
}

impl<T: Keyed> Table<T> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets.len()
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.buckets.as_slice())
    }

    pub(super) fn is_full(&self) -> bool {
        self.len >= capacity(self.buckets.len())
    }

    #[inline(always)]
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Option<usize> {
        let mask = self.buckets.len().wrapping_sub(1);
        let mut bucket = fingerprint.home() & mask;
        loop {
            match self.buckets.get(bucket) {
                Some(Some(item)) if item.fingerprint() == fingerprint => return Some(bucket),
                Some(Some(_)) => bucket = (bucket + 1) & mask,
                _ => return None,
            }
        }
    }

    #[inline(always)]
    pub(super) fn find_mut(&mut self, fingerprint: Fingerprint) -> Option<&mut T> {
        let bucket = self.find(fingerprint)?;
        self.at_mut(bucket)
    }

    #[inline(always)]
    pub(super) fn at(&self, bucket: usize) -> Option<&T> {
        self.buckets.get(bucket)?.as_ref()
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, bucket: usize) -> Option<&mut T> {
        self.buckets.get_mut(bucket)?.as_mut()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.buckets.iter().flatten()
    }

    /// Adds an item whose fingerprint is not in the table yet.
    pub(super) fn insert(&mut self, item: T) {
        if self.is_full() {
            self.grow();
        }
        self.len += 1;
        self.put(item);
    }

    fn put(&mut self, item: T) {
        let mask = self.buckets.len() - 1;
        let mut bucket = item.fingerprint().home() & mask;
        while self.buckets[bucket].is_some() {
            bucket = (bucket + 1) & mask;
        }
        self.buckets[bucket] = Some(item);
    }

    fn grow(&mut self) {
        let buckets = next_buckets(self.buckets.len());
        let fresh = std::iter::repeat_with(|| None).take(buckets).collect();
        let old = std::mem::replace(&mut self.buckets, fresh);
        old.into_iter().flatten().for_each(|item| self.put(item));
    }

    /// Removes the item of a bucket, and moves the items behind it that would otherwise no longer be
    /// found.
    pub(super) fn remove(&mut self, bucket: usize) -> Option<T> {
        let removed = self.buckets.get_mut(bucket)?.take()?;
        self.len -= 1;
        let mask = self.buckets.len() - 1;
        let (mut hole, mut next) = (bucket, (bucket + 1) & mask);
        while let Some(item) = &self.buckets[next] {
            let home = item.fingerprint().home() & mask;
            // The item may move back to the hole unless its home lies behind it.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.buckets.swap(hole, next);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    impl Keyed for (Fingerprint, u64) {
        fn fingerprint(&self) -> Fingerprint {
            self.0
        }
    }

    /// Insertions and removals in any order, against a map. Few homes, so that most slots are not
    /// where they belong, and homes at the end of the table, so that runs go around it.
    #[test]
    fn it_holds_what_a_map_holds() {
        for seed in 1..=300_u64 {
            let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            let mut next = |end: u64| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random >> 11) % end
            };
            let homes = next(12) + 1;
            let (mut table, mut map) = (Table::<(Fingerprint, u64)>::default(), HashMap::new());
            for step in 0..400 {
                let fingerprint = Fingerprint(next(homes).wrapping_sub(homes / 2), next(40));
                if let Some(place) = table.find(fingerprint) {
                    let removed = table.remove(place).expect("it was found");
                    assert_eq!(Some(removed.1), map.remove(&fingerprint), "seed {seed}, step {step}");
                } else {
                    table.insert((fingerprint, step));
                    assert_eq!(map.insert(fingerprint, step), None, "seed {seed}, step {step}");
                }
                assert_eq!(table.len(), map.len());
                assert!(table.len() <= capacity(table.buckets()));
                for (fingerprint, expected) in &map {
                    let found = table.find_mut(*fingerprint).map(|item| item.1);
                    assert_eq!(found, Some(*expected), "seed {seed}, step {step}, {fingerprint:?}");
                }
                assert_eq!(table.iter().count(), map.len());
            }
        }
    }

    #[test]
    fn an_empty_table_finds_nothing() {
        let mut table = Table::<(Fingerprint, u64)>::default();
        assert_eq!(table.find(Fingerprint(0, 0)), None);
        assert!(table.remove(0).is_none() && table.at_mut(7).is_none());
        assert_eq!((table.len(), table.buckets(), table.is_full()), (0, 0, true));
    }
}
