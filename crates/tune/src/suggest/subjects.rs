//! Subjects of all routes with their peaks, in bounded memory.
//!
//! When the memory is full, only subjects whose hash ends in one more zero bit are kept: a sample of
//! half of them, the same on every route and in every run.

use std::collections::HashMap;
use std::fmt;

use sha2::{Digest, Sha256};
use slidegate::Key;

use super::quota::PeakTable;
use crate::peak::{PeakCounter, PeakWindow};

/// Bytes that an allocation takes beside its contents.
const ALLOCATION_BYTES: usize = 16;
/// Tables of subjects: the one in use, with its free places, and most of the one before, while it grows.
const TABLES: usize = 2;

/// Subjects with their peaks.
#[derive(Debug)]
pub(super) struct SubjectPeaks {
    windows: Vec<PeakWindow>,
    counters: HashMap<RouteSubject, Box<[PeakCounter]>>,
    /// Bytes that the counters have on the heap.
    heap_bytes: usize,
    max_bytes: usize,
    sample: SubjectSample,
}

/// Sample of the subjects: one of 2^bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SubjectSample {
    bits: u32,
}

/// Subject of a route.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct RouteSubject {
    route: u32,
    hash: [u64; 2],
}

impl SubjectSample {
    /// Number of subjects for which one is in the sample.
    pub fn one_of(self) -> u64 {
        1 << self.bits
    }

    /// Whether it is all subjects.
    pub fn is_all(self) -> bool {
        self.bits == 0
    }

    fn contains(self, subject: RouteSubject) -> bool {
        subject.hash[0].trailing_zeros() >= self.bits
    }
}

impl fmt::Display for SubjectSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1 of {} subjects", self.one_of())
    }
}

impl SubjectPeaks {
    pub(super) fn new(windows: Vec<PeakWindow>, max_bytes: usize) -> Self {
        Self { windows, counters: HashMap::new(), heap_bytes: 0, max_bytes, sample: SubjectSample::default() }
    }

    /// Lengths of the windows.
    pub(super) fn windows_ms(&self) -> impl Iterator<Item = u64> + '_ {
        self.windows.iter().map(PeakWindow::window_ms)
    }

    /// Counts a request of a subject, if it is in the sample.
    pub(super) fn count(&mut self, route: u32, key: &Key<'_>, now_ms: u64) {
        let subject = RouteSubject { route, hash: hash(key) };
        if !self.sample.contains(subject) {
            return;
        }
        let Self { windows, counters, heap_bytes, .. } = self;
        let windows = &*windows;
        let counters =
            counters.entry(subject).or_insert_with(|| windows.iter().map(PeakCounter::new).collect());
        for (counter, window) in counters.iter_mut().zip(windows) {
            let before = counter.heap_bytes();
            counter.count(window, now_ms);
            *heap_bytes = *heap_bytes + counter.heap_bytes() - before;
        }
        while self.bytes() > self.max_bytes && !self.counters.is_empty() {
            self.thin();
        }
    }

    /// Estimate of the memory in use, from above.
    fn bytes(&self) -> usize {
        let row = size_of::<RouteSubject>() + size_of::<Box<[PeakCounter]>>() + 1;
        let counters =
            self.windows.len() * (size_of::<PeakCounter>() + 2 * ALLOCATION_BYTES) + ALLOCATION_BYTES;
        self.counters.capacity() * row * TABLES + self.counters.len() * counters + self.heap_bytes
    }

    /// Drops half of the subjects.
    fn thin(&mut self) {
        self.sample.bits += 1;
        let Self { counters, heap_bytes, sample, .. } = self;
        counters.retain(|subject, counters| {
            let is_sampled = sample.contains(*subject);
            if !is_sampled {
                *heap_bytes -= counters.iter().map(PeakCounter::heap_bytes).sum::<usize>();
            }
            is_sampled
        });
        counters.shrink_to_fit();
    }

    /// Peaks of the subjects of each route, and which part of the subjects they are.
    pub(super) fn into_tables(self, routes: usize) -> (Vec<PeakTable>, SubjectSample) {
        let mut tables: Vec<PeakTable> = (0..routes).map(|_| PeakTable::new(self.windows.len())).collect();
        for (subject, counters) in self.counters {
            tables[subject.route as usize].push(counters.iter().map(PeakCounter::peak));
        }
        (tables, self.sample)
    }
}

/// Hash of a subject: without a key, so that every run has the same sample.
fn hash(key: &Key<'_>) -> [u64; 2] {
    let digest = Sha256::new().chain_update([key.form() as u8]).chain_update(key.bytes()).finalize();
    let (words, _) = digest.as_chunks::<8>();
    [u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::peak::StartPrecision;

    fn subjects(max_bytes: usize) -> SubjectPeaks {
        let window = PeakWindow::new(Duration::from_secs(1), StartPrecision::Milliseconds).expect("a window");
        SubjectPeaks::new(vec![window], max_bytes)
    }

    #[test]
    fn a_full_table_keeps_a_sample_whose_peaks_are_whole() {
        let max_bytes = 1 << 18;
        let mut subjects = subjects(max_bytes);
        // Every subject has 7 requests at once. Those that are sampled from the start keep them all.
        for n in 0..20_000_u64 {
            for _ in 0..7 {
                subjects.count(0, &Key::from(n), n);
            }
            assert!(subjects.bytes() <= max_bytes);
        }
        let (tables, sample) = subjects.into_tables(1);
        assert!(sample.one_of() >= 8 && !sample.is_all(), "{sample}");
        let expected = 20_000 / sample.one_of() as usize;
        let found = tables[0].subjects();
        assert!(found.abs_diff(expected) < expected / 2, "{found} of about {expected}");
        assert_eq!(tables[0].sorted(0), vec![7; found]);
    }

    #[test]
    fn a_subject_is_in_the_sample_of_every_route_or_of_none() {
        let mut subjects = subjects(1 << 18);
        for n in 0..10_000_u64 {
            subjects.count(0, &Key::from(n), n);
            subjects.count(1, &Key::from(n), n);
        }
        let (tables, sample) = subjects.into_tables(2);
        assert!(!sample.is_all());
        assert_eq!(tables[0].subjects(), tables[1].subjects());
    }
}
