//! Latency of decisions.

use std::sync::atomic::{AtomicU64, Ordering};

/// Buckets between two powers of two, as a power of two: the resolution is a sixteenth.
const FINE_BITS: u32 = 4;
const FINE: usize = 1 << FINE_BITS;
/// Longer durations, above 18 minutes, are in the last bucket.
const MAX_BITS: u32 = 40;
const BUCKETS: usize = (MAX_BITS - FINE_BITS + 1) as usize * FINE;

/// Histogram of durations.
#[derive(Debug)]
pub(super) struct LatencyHistogram {
    buckets: Box<[AtomicU64]>,
    sum_ns: AtomicU64,
}

impl LatencyHistogram {
    pub(super) fn new() -> Self {
        Self { buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(), sum_ns: AtomicU64::new(0) }
    }

    pub(super) fn record(&self, ns: u64) {
        self.buckets[bucket(ns)].fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(super) fn snapshot(&self) -> Latency {
        let buckets = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        Latency { buckets, sum_ns: self.sum_ns.load(Ordering::Relaxed) }
    }
}

/// Bucket of a duration: above the upper edge of the one before, up to and including its own, like
/// `le` in Prometheus.
fn bucket(ns: u64) -> usize {
    let ns = ns.saturating_sub(1).min((1 << MAX_BITS) - 1);
    let bits = (u64::BITS - ns.leading_zeros()).saturating_sub(FINE_BITS + 1);
    bits as usize * FINE + (ns >> bits) as usize
}

/// Upper edge of a bucket.
fn upper_ns(bucket: usize) -> u64 {
    let bits = (bucket / FINE).saturating_sub(1);
    ((bucket - bits * FINE + 1) as u64) << bits
}

/// Distribution of the latency of decisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Latency {
    buckets: Box<[u64]>,
    sum_ns: u64,
}

impl Latency {
    /// Number of timed decisions.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Sum of all durations.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Number of decisions that took at most this long: exact for powers of two, otherwise a lower
    /// bound.
    pub fn cumulative(&self, most_ns: u64) -> u64 {
        let buckets = self.buckets.iter().enumerate();
        buckets.take_while(|(bucket, _)| upper_ns(*bucket) <= most_ns).map(|(_, count)| count).sum()
    }

    /// Quantile: the duration that this share of decisions did not exceed, rounded up by a
    /// sixteenth at most; `None` if none was timed. A share of 0.5 is the median.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        let count = self.count();
        let rank = ((share.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut sum = 0;
        let reached = self.buckets.iter().position(|bucket| {
            sum += bucket;
            sum >= rank
        });
        reached.map(upper_ns)
    }

    /// Difference to an earlier snapshot.
    pub fn minus(&self, earlier: &Self) -> Self {
        let both = self.buckets.iter().zip(&earlier.buckets);
        let buckets = both.map(|(now, then)| now.saturating_sub(*then)).collect();
        Self { buckets, sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_in_the_bucket_that_ends_next() {
        let edges: Vec<u64> = (0..BUCKETS).map(upper_ns).collect();
        assert!(edges.is_sorted_by(|one, next| one < next));
        let mut durations: Vec<u64> = (0..100_000).collect();
        durations.extend(edges.iter().flat_map(|edge| [edge - 1, *edge, edge + 1]));
        for ns in durations.into_iter().filter(|ns| *ns <= 1 << MAX_BITS) {
            let bucket = bucket(ns);
            assert!(ns <= edges[bucket], "{ns}");
            assert!(bucket == 0 || edges[bucket - 1] < ns, "{ns}");
            assert!(edges[bucket] <= ns.max(1) + ns / 16, "{ns}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
        assert!((0..=MAX_BITS).all(|power| edges.contains(&(1 << power))));
    }

    #[test]
    fn counts_and_quantiles_are_those_of_a_sorted_list() {
        let histogram = LatencyHistogram::new();
        assert_eq!(histogram.snapshot().quantile_ns(0.5), None);
        let durations: Vec<u64> = (1..=10_000).map(|n| n * n % 77_777).collect();
        durations.iter().for_each(|ns| histogram.record(*ns));
        let latency = histogram.snapshot();
        assert_eq!((latency.count(), latency.sum_ns()), (10_000, durations.iter().sum()));
        for power in 0..20 {
            let most_ns = 1 << power;
            let naive = durations.iter().filter(|ns| **ns <= most_ns).count();
            assert_eq!(latency.cumulative(most_ns), naive as u64, "{most_ns}");
        }
        let mut sorted = durations;
        sorted.sort_unstable();
        for (share, rank) in [(0.0, 1), (0.5, 5_000), (0.99, 9_900), (0.999, 9_990), (1.0, 10_000)] {
            assert_eq!(latency.quantile_ns(share), Some(upper_ns(bucket(sorted[rank - 1]))), "{share}");
        }
        histogram.record(3);
        let later = histogram.snapshot().minus(&latency);
        assert_eq!((later.count(), later.sum_ns(), later.quantile_ns(0.5)), (1, 3, Some(3)));
    }
}
