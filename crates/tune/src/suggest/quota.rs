//! Quotas from the peaks of subjects: as low as they can be while few subjects are touched.

use std::cmp::Reverse;
use std::ops::Range;

use crate::peak::{FINE_QUOTA, Peak};

/// Peaks of the subjects of a route: of every subject one in each window.
#[derive(Debug)]
pub(super) struct PeakTable {
    windows: usize,
    /// Subject by subject.
    peaks: Vec<Peak>,
}

/// Change of a quota before it is written into a policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Margin {
    /// None: the quota as the peaks have it.
    Exact,
    /// More by this many percent, and then up to a number of two digits.
    Headroom {
        /// Percent.
        percent: u64,
    },
}

/// Quotas of a route, one for each window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Quotas {
    pub(super) quotas: Vec<u64>,
    /// Number of subjects that one of them denies something.
    pub(super) touched: usize,
}

impl Margin {
    /// Quota with the margin.
    fn apply(self, quota: u64) -> u64 {
        match self {
            Self::Exact => quota,
            Self::Headroom { percent } => {
                let raised = u128::from(quota) * (100 + u128::from(percent));
                two_digits(u64::try_from(raised.div_ceil(100)).unwrap_or(u64::MAX)).min(slidegate::MAX_QUOTA)
            }
        }
    }
}

/// Smallest number of two digits and zeros that is not below this one.
fn two_digits(number: u64) -> u64 {
    let mut unit = 1;
    while number / unit >= 100 {
        unit *= 10;
    }
    number.div_ceil(unit).saturating_mul(unit)
}

impl PeakTable {
    pub(super) fn new(windows: usize) -> Self {
        Self { windows, peaks: Vec::new() }
    }

    /// Adds a subject, with a peak in each window.
    pub(super) fn push(&mut self, peaks: impl IntoIterator<Item = Peak>) {
        self.peaks.extend(peaks);
        debug_assert!(self.peaks.len().is_multiple_of(self.windows), "a subject lacks a peak");
    }

    /// Number of subjects.
    pub(super) fn subjects(&self) -> usize {
        self.peaks.len() / self.windows
    }

    fn of_window(&self, window: usize) -> impl Iterator<Item = Peak> + '_ {
        self.peaks.iter().copied().skip(window).step_by(self.windows)
    }

    /// Peaks of a window as numbers, in order.
    pub(super) fn sorted(&self, window: usize) -> Vec<u64> {
        let mut sorted: Vec<u64> = self.of_window(window).map(Peak::most).collect();
        sorted.sort_unstable();
        sorted
    }

    /// Number of subjects that a quota of this window denies something.
    pub(super) fn touched_in(&self, window: usize, quota: u64) -> usize {
        self.of_window(window).filter(|peak| peak.exceeds(quota)).count()
    }

    /// Number of subjects that one of these quotas denies something.
    fn touched(&self, quotas: &[u64]) -> usize {
        let is_touched = |peaks: &&[Peak]| peaks.iter().zip(quotas).any(|(peak, quota)| peak.exceeds(*quota));
        self.peaks.chunks_exact(self.windows).filter(is_touched).count()
    }

    /// Quotas that touch at most this many subjects.
    ///
    /// With one window and no margin, a quota less by one touches more. With several, the same
    /// number of subjects is left above the quota of every window: the largest for which all
    /// windows together touch no more than `most`.
    pub(super) fn quotas(&self, most: usize, margin: Margin) -> Quotas {
        let most = most.min(self.subjects().saturating_sub(1));
        let ladders: Vec<Ladder> = (0..self.windows).map(|window| self.ladder(window, most)).collect();
        let mut above = self.largest_rank(&ladders, most);
        loop {
            let quotas: Vec<u64> = ladders.iter().map(|ladder| ladder.quota(above, margin)).collect();
            let touched = self.touched(&quotas);
            // A margin may raise a quota into the coarse range, where other subjects have the peaks.
            if touched <= most || above == 0 {
                return Quotas { quotas, touched };
            }
            above /= 2;
        }
    }

    fn ladder(&self, window: usize, most: usize) -> Ladder {
        let largest = |number: fn(Peak) -> u64| {
            let mut numbers: Vec<u64> = self.of_window(window).map(number).collect();
            numbers.sort_unstable_by_key(|number| Reverse(*number));
            numbers.truncate(most + 1);
            numbers
        };
        Ladder::new(largest(|peak| peak.fine), largest(|peak| peak.coarse))
    }

    /// Largest number of subjects above every quota for which at most `most` are touched.
    fn largest_rank(&self, ladders: &[Ladder], most: usize) -> usize {
        if self.windows == 1 {
            return most;
        }
        // Changes of the number of touched subjects from one rank to the next.
        let mut changes = vec![0_i64; most + 2];
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for peaks in self.peaks.chunks_exact(self.windows) {
            ranges.clear();
            ranges.extend(peaks.iter().zip(ladders).flat_map(|(peak, ladder)| ladder.ranks_touching(*peak)));
            ranges.retain(|range| !range.is_empty());
            ranges.sort_unstable_by_key(|range| range.start);
            let mut end = 0;
            for range in &ranges {
                if range.end > end {
                    changes[range.start.max(end)] += 1;
                    changes[range.end] -= 1;
                    end = range.end;
                }
            }
        }
        let mut touched = 0;
        let counts = changes.iter().take(most + 1).map(|change| {
            touched += change;
            touched
        });
        let fits =
            counts.enumerate().filter(|(_, touched)| usize::try_from(*touched).is_ok_and(|n| n <= most));
        fits.last().map_or(0, |(rank, _)| rank)
    }
}

/// Quotas of one window by rank: by the number of subjects whose peaks are left above them.
#[derive(Debug)]
struct Ladder {
    /// Quotas, the largest first. Those before `fine_from` count at the coarse resolution.
    quotas: Vec<u64>,
    fine_from: usize,
    /// Largest coarse peaks.
    coarse: Vec<u64>,
}

impl Ladder {
    /// Ladder from the largest peaks, in descending order.
    fn new(fine: Vec<u64>, coarse: Vec<u64>) -> Self {
        let fine_from = fine.partition_point(|peak| *peak > FINE_QUOTA);
        let mut quotas = fine;
        quotas[..fine_from].copy_from_slice(&coarse[..fine_from]);
        Self { quotas, fine_from, coarse }
    }

    /// Quota of this rank, with a margin.
    fn quota(&self, rank: usize, margin: Margin) -> u64 {
        // A route without requests has no rank.
        let (Some(&quota), Some(&coarse)) = (self.quotas.get(rank), self.coarse.get(rank)) else { return 1 };
        match margin.apply(quota) {
            // It is counted at the coarse resolution now, where peaks are higher.
            raised if quota <= FINE_QUOTA && raised > FINE_QUOTA => raised.max(margin.apply(coarse)),
            raised => raised,
        }
    }

    /// Ranks whose quota denies a subject with this peak something.
    fn ranks_touching(&self, peak: Peak) -> [Range<usize>; 2] {
        let (coarse, fine) = self.quotas.split_at(self.fine_from);
        let first_coarse = coarse.partition_point(|quota| *quota >= peak.coarse);
        let first_fine = self.fine_from + fine.partition_point(|quota| *quota >= peak.fine);
        [first_coarse..self.fine_from, first_fine..self.quotas.len()]
    }
}

#[cfg(test)]
mod tests;
