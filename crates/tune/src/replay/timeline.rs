//! Timelines: counts in a fixed number of buckets, which become coarser as the log goes on.

use serde::Serialize;

/// Number of buckets of a timeline.
pub const BUCKETS: usize = 128;

/// Time axis that all timelines of a replay share.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
pub struct TimeAxis {
    /// Start of the first bucket, in Unix milliseconds.
    pub start_ms: u64,
    /// Length of a bucket.
    pub bucket_ms: u64,
    /// Number of buckets up to the last request; at most [`BUCKETS`].
    pub buckets: usize,
}

/// Values over time, bucket by bucket from the start of the [`TimeAxis`]. Buckets at the end may be
/// missing: they are 0.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
#[serde(transparent)]
pub struct Timeline(pub Vec<u64>);

/// Growing axis. A bucket is a power of two times [`FIRST_BUCKET_MS`].
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowingAxis {
    start_ms: u64,
    last_ms: u64,
    /// How often the buckets were doubled.
    doublings: u32,
}

/// Length of a bucket at first.
const FIRST_BUCKET_MS: u64 = 1_000;

/// How the values of two buckets become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Aggregation {
    Sum,
    Max,
}

/// Timeline on a [`GrowingAxis`].
#[derive(Clone, Debug)]
pub(super) struct GrowingTimeline {
    aggregation: Aggregation,
    doublings: u32,
    values: Vec<u64>,
}

/// Place on a [`GrowingAxis`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket {
    pub(super) index: usize,
    pub(super) doublings: u32,
}

impl GrowingAxis {
    /// Axis from the whole second of the first request.
    pub(super) fn new(first_ms: u64) -> Self {
        Self { start_ms: first_ms - first_ms % FIRST_BUCKET_MS, last_ms: first_ms, doublings: 0 }
    }

    /// Bucket of a time. Times come in order; an earlier one counts in the first bucket at least.
    #[inline]
    pub(super) fn bucket(&mut self, at_ms: u64) -> Bucket {
        self.last_ms = self.last_ms.max(at_ms);
        let seconds = at_ms.saturating_sub(self.start_ms) / FIRST_BUCKET_MS;
        while seconds >> self.doublings >= BUCKETS as u64 {
            self.doublings += 1;
        }
        Bucket { index: (seconds >> self.doublings) as usize, doublings: self.doublings }
    }

    /// The axis as it is now.
    pub(super) fn axis(&self) -> TimeAxis {
        let bucket_ms = FIRST_BUCKET_MS << self.doublings;
        let buckets = ((self.last_ms - self.start_ms) / bucket_ms) as usize + 1;
        TimeAxis { start_ms: self.start_ms, bucket_ms, buckets }
    }
}

impl GrowingTimeline {
    pub(super) fn new(aggregation: Aggregation) -> Self {
        Self { aggregation, doublings: 0, values: Vec::new() }
    }

    /// Adds a value to a bucket.
    #[inline]
    pub(super) fn add(&mut self, Bucket { index, doublings }: Bucket, value: u64) {
        if doublings != self.doublings {
            self.coarsen(doublings);
        }
        if index >= self.values.len() {
            self.values.resize(index + 1, 0);
        }
        self.values[index] = self.aggregation.of(self.values[index], value);
    }

    #[cold]
    fn coarsen(&mut self, doublings: u32) {
        let by = doublings.saturating_sub(self.doublings).min(63);
        let mut values = vec![0; self.values.len().div_ceil(1 << by.min(16))];
        for (index, value) in self.values.iter().enumerate() {
            let into = &mut values[index >> by];
            *into = self.aggregation.of(*into, *value);
        }
        (self.values, self.doublings) = (values, doublings);
    }

    /// The timeline on this axis, at the end.
    pub(super) fn into_timeline(mut self, axis: &GrowingAxis) -> Timeline {
        if self.doublings != axis.doublings {
            self.coarsen(axis.doublings);
        }
        Timeline(self.values)
    }
}

impl Aggregation {
    #[inline]
    fn of(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Sum => one + other,
            Self::Max => one.max(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the span, sums and maxima are those of a timeline that was made at the end.
    #[test]
    fn a_coarsened_timeline_is_the_one_made_at_once() {
        for step_ms in [1, 7, 999, 1_000, 12_345, 600_000, 86_400_000] {
            let times: Vec<u64> = (0..2_000).map(|n| 1_700_000_000_123 + n * step_ms).collect();
            let mut axis = GrowingAxis::new(times[0]);
            let (mut sums, mut maxima) =
                (GrowingTimeline::new(Aggregation::Sum), GrowingTimeline::new(Aggregation::Max));
            for (value, at_ms) in (1..).zip(&times) {
                let bucket = axis.bucket(*at_ms);
                sums.add(bucket, 1);
                maxima.add(bucket, value);
            }
            let (sums, maxima) = (sums.into_timeline(&axis), maxima.into_timeline(&axis));
            let TimeAxis { start_ms, bucket_ms, buckets } = axis.axis();
            assert!(buckets <= BUCKETS && sums.0.len() == buckets && maxima.0.len() == buckets);
            for index in 0..buckets {
                let from_ms = start_ms + index as u64 * bucket_ms;
                let within = |at_ms: &&u64| (from_ms..from_ms + bucket_ms).contains(*at_ms);
                let count = times.iter().filter(within).count() as u64;
                let last = times.iter().rposition(|at_ms| within(&at_ms)).map_or(0, |at| at as u64 + 1);
                assert_eq!((sums.0[index], maxima.0[index]), (count, last), "{step_ms} {index}");
            }
        }
    }

    #[test]
    fn a_time_before_the_start_is_in_the_first_bucket() {
        let mut axis = GrowingAxis::new(10_000);
        assert_eq!(axis.bucket(9_000), Bucket { index: 0, doublings: 0 });
    }
}
