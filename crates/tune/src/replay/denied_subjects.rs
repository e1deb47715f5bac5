//! Subjects with denials: key, counts and times, for at most [`MAX_SUBJECTS`] of them.

use std::collections::HashMap;
use std::mem;

use slidegate::Key;

use super::timeline::{Aggregation, Bucket, GrowingAxis, GrowingTimeline, Timeline};

/// Maximum number of subjects with details. When there are more, the half with the fewest denials
/// is dropped.
const MAX_SUBJECTS: usize = 100_000;

/// Subject of a rule: index of the rule, and hash of the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SubjectId {
    pub(super) rule: u32,
    pub(super) hash: u64,
}

/// Denials by subject.
#[derive(Debug, Default)]
pub(super) struct DeniedSubjects {
    by_id: HashMap<SubjectId, Denials>,
    /// Subjects that were dropped.
    dropped: u64,
}

/// Denials of a subject.
#[derive(Debug)]
pub(super) struct Denials {
    pub(super) key: Key<'static>,
    pub(super) count: u64,
    pub(super) first_ms: u64,
    /// Denials in the buckets that have some, ascending.
    sparse: Vec<(Bucket, u32)>,
}

impl DeniedSubjects {
    /// Counts a denial.
    pub(super) fn add(&mut self, id: SubjectId, key: &Key<'_>, at_ms: u64, bucket: Bucket) {
        if self.by_id.len() >= MAX_SUBJECTS && !self.by_id.contains_key(&id) {
            self.drop_half();
        }
        let new = || Denials { key: key.clone().into_owned(), count: 0, first_ms: at_ms, sparse: Vec::new() };
        let denials = self.by_id.entry(id).or_insert_with(new);
        denials.count += 1;
        denials.add(bucket);
    }

    /// Number of subjects of a rule.
    pub(super) fn of_rule(&self, rule: u32) -> u64 {
        self.by_id.keys().filter(|id| id.rule == rule).count() as u64
    }

    /// Subjects with the most denials, the most first; of equal ones the first denied.
    pub(super) fn most(&self, count: usize) -> Vec<(SubjectId, &Denials)> {
        let mut all: Vec<(SubjectId, &Denials)> =
            self.by_id.iter().map(|(id, denials)| (*id, denials)).collect();
        all.sort_unstable_by_key(|(id, denials)| {
            (u64::MAX - denials.count, denials.first_ms, id.rule, id.hash)
        });
        all.truncate(count);
        all
    }

    /// Number of subjects whose details were dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    fn drop_half(&mut self) {
        let mut counts: Vec<u64> = self.by_id.values().map(|denials| denials.count).collect();
        let middle = counts.len() / 2;
        let (_, median, _) = counts.select_nth_unstable(middle);
        let (median, before) = (*median, self.by_id.len());
        // Of those in the middle, only as many stay as there is room for.
        let above = self.by_id.values().filter(|denials| denials.count > median).count();
        let mut room = middle.saturating_sub(above);
        self.by_id.retain(|_, denials| {
            let has_room = denials.count == median && room > 0;
            room -= usize::from(has_room);
            denials.count > median || has_room
        });
        self.dropped += (before - self.by_id.len()) as u64;
    }
}

impl Denials {
    fn add(&mut self, bucket: Bucket) {
        match self.sparse.last_mut() {
            Some((last, count)) if *last == bucket => *count += 1,
            last => {
                if last.is_some_and(|(last, _)| last.doublings != bucket.doublings) {
                    self.coarsen(bucket.doublings);
                }
                match self.sparse.last_mut() {
                    Some((last, count)) if *last == bucket => *count += 1,
                    _ => self.sparse.push((bucket, 1)),
                }
            }
        }
    }

    fn coarsen(&mut self, doublings: u32) {
        for (bucket, count) in mem::take(&mut self.sparse) {
            let index = bucket.index >> (doublings - bucket.doublings).min(63);
            let bucket = Bucket { index, doublings };
            match self.sparse.last_mut() {
                Some((last, sum)) if *last == bucket => *sum += count,
                _ => self.sparse.push((bucket, count)),
            }
        }
    }

    /// Denials over time.
    pub(super) fn timeline(&self, axis: &GrowingAxis) -> Timeline {
        let mut timeline = GrowingTimeline::new(Aggregation::Sum);
        self.sparse.iter().for_each(|(bucket, count)| timeline.add(*bucket, u64::from(*count)));
        timeline.into_timeline(axis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(hash: u64) -> SubjectId {
        SubjectId { rule: 0, hash }
    }

    #[test]
    fn the_most_denied_come_first_and_have_their_timeline() {
        let (mut axis, mut subjects) = (GrowingAxis::new(0), DeniedSubjects::default());
        for (hash, count) in [(1, 3), (2, 900), (3, 40)] {
            for n in 0..count {
                let at_ms = n * 1_000;
                let bucket = axis.bucket(at_ms);
                subjects.add(id(hash), &Key::from(hash), at_ms, bucket);
            }
        }
        let most = subjects.most(2);
        assert_eq!(
            most.iter().map(|(id, denials)| (id.hash, denials.count)).collect::<Vec<_>>(),
            [(2, 900), (3, 40)]
        );
        for (_, denials) in most {
            assert_eq!(denials.timeline(&axis).0.iter().sum::<u64>(), denials.count);
        }
    }

    /// A flood of subjects with one denial each does not displace those with many.
    #[test]
    fn the_bound_drops_the_least_denied() {
        let (mut axis, mut subjects) = (GrowingAxis::new(0), DeniedSubjects::default());
        let bucket = axis.bucket(0);
        for hash in 0..10 {
            (0..5).for_each(|_| subjects.add(id(hash), &Key::from(hash), 0, bucket));
        }
        for hash in 10..3 * MAX_SUBJECTS as u64 {
            subjects.add(id(hash), &Key::from(hash), 0, bucket);
        }
        assert!(subjects.by_id.len() <= MAX_SUBJECTS && subjects.dropped() > 0);
        assert!(subjects.most(10).iter().all(|(id, denials)| id.hash < 10 && denials.count == 5));
    }
}
