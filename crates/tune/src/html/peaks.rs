//! Peaks of a limit: how many subjects have which, and how many another quota would touch.
//!
//! A quota touches a subject exactly if the subject's peak is above it: up to the first denial
//! nothing differs. So the second chart is the first one, summed from the right.

use crate::chart::{Axis, Bar, Chart, Mark, Point, Tone};
use crate::numbers::{count, share};
use crate::replay::report::{LimitReplay, PeakCount};

const HEIGHT_PX: u32 = 180;

/// Most bars of a histogram.
const MAX_BARS: u64 = 48;

/// Range of peaks with its subjects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PeakBin {
    first: u64,
    last: u64,
    subjects: u64,
}

/// How many subjects have which peak, with the quota as a line.
pub(super) fn histogram(limit: &LimitReplay) -> Chart {
    let bins = bins(&limit.peaks, limit.quota);
    let most = bins.iter().map(|bin| bin.subjects).max().unwrap_or(0);
    let bars = bins.iter().filter(|bin| bin.subjects > 0).map(|bin| Bar {
        from: bin.first as f64,
        to: (bin.last + 1) as f64,
        value: bin.subjects as f64,
        tone: if bin.first > limit.quota { Tone::Denied } else { Tone::Allowed },
        label: format!("peak {}: {} subjects", peak_range(*bin), count(bin.subjects)),
    });
    let touched = limit.touched_by_quota(limit.quota);
    Chart {
        title: format!("Subjects by their peak under {}", limit.name),
        summary: format!(
            "The highest peak is {}. {} of {} subjects are above the quota of {}.",
            count(largest(limit)),
            count(touched),
            count(limit.subjects),
            count(limit.quota)
        ),
        x: Axis::counts_to(axis_end(limit)),
        y: Axis::magnitudes(most),
        marks: vec![Mark::Bars(bars.collect()), quota(limit, limit.quota as f64 + 1.0)],
        height_px: HEIGHT_PX,
    }
}

/// How many subjects each quota would touch.
pub(super) fn touched_by_quota(limit: &LimitReplay) -> Chart {
    let end = axis_end(limit);
    let quotas = quotas(end);
    let points =
        quotas.iter().map(|quota| Point { x: *quota as f64, y: limit.touched_by_quota(*quota) as f64 });
    let now = limit.touched_by_quota(limit.quota);
    let at = Point { x: limit.quota as f64, y: now as f64 };
    let of = share(now, limit.subjects);
    Chart {
        title: format!("Subjects that another quota would touch, instead of {}", limit.limit),
        summary: format!("The quota of {} touches {} subjects ({of}).", count(limit.quota), count(now)),
        x: Axis::counts_to(end),
        y: Axis::magnitudes(limit.subjects),
        marks: vec![
            Mark::area("touched", Tone::Observed, points),
            Mark::Dot {
                at,
                tone: Tone::Observed,
                label: format!("{}: {} ({of})", count(limit.quota), count(now)),
            },
        ],
        height_px: HEIGHT_PX,
    }
}

fn quota(limit: &LimitReplay, at: f64) -> Mark {
    Mark::Threshold { at, label: format!("quota {}", count(limit.quota)) }
}

fn largest(limit: &LimitReplay) -> u64 {
    limit.peaks.iter().map(|count| count.under(limit.quota)).max().unwrap_or(0)
}

/// End of the axis of peaks and quotas: the largest of both, with some room.
fn axis_end(limit: &LimitReplay) -> u64 {
    let end = largest(limit).max(limit.quota).saturating_add(1);
    end + end / 20
}

/// Bins of equal width, of which no one has peaks on both sides of the quota.
fn bins(peaks: &[PeakCount], quota: u64) -> Vec<PeakBin> {
    let mut peaks: Vec<(u64, u64)> = peaks.iter().map(|count| (count.under(quota), count.subjects)).collect();
    peaks.sort_unstable();
    let largest = peaks.last().map_or(0, |(peak, _)| *peak);
    let width = largest.div_ceil(MAX_BARS).max(1);
    // The first bin ends where the quota is the end of one.
    let offset = (quota + 1) % width;
    let mut bins: Vec<PeakBin> = Vec::new();
    for (peak, subjects) in peaks {
        let first = if peak < offset { 0 } else { (peak - offset) / width * width + offset };
        let last = if first == 0 && offset > 0 { offset - 1 } else { first + width - 1 };
        match bins.last_mut().filter(|bin| bin.first == first) {
            Some(bin) => bin.subjects += subjects,
            None => bins.push(PeakBin { first, last, subjects }),
        }
    }
    bins
}

/// Quotas at which the curve is drawn: every one, or about two hundred.
fn quotas(end: u64) -> Vec<u64> {
    let step = end.div_ceil(200).max(1);
    (0..=end).step_by(usize::try_from(step).unwrap_or(usize::MAX)).collect()
}

fn peak_range(bin: PeakBin) -> String {
    if bin.first == bin.last {
        count(bin.first)
    } else {
        format!("{}–{}", count(bin.first), count(bin.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every subject is in one bin, and the bins above the quota have the subjects that it touches.
    #[test]
    fn bins_have_every_subject_on_its_side_of_the_quota() {
        for (largest, quota) in
            [(1, 5), (16, 5), (47, 48), (49, 48), (1_000, 600), (1_000, 601), (99_999, 10), (7, 0)]
        {
            let count = |peak| PeakCount { peak, coarse_peak: None, subjects: peak % 7 + 1 };
            let peaks: Vec<PeakCount> = (1..=largest).step_by(3).map(count).collect();
            let bins = bins(&peaks, quota);
            let sum = |above: bool| -> u64 {
                let counts = peaks.iter().filter(|count| (count.peak > quota) == above);
                counts.map(|count| count.subjects).sum()
            };
            let binned = |above: bool| -> u64 {
                bins.iter().filter(|bin| (bin.first > quota) == above).map(|bin| bin.subjects).sum()
            };
            assert_eq!((binned(true), binned(false)), (sum(true), sum(false)), "{largest} {quota}: {bins:?}");
            assert!(bins.len() as u64 <= MAX_BARS + 1, "{largest} {quota}: {} bins", bins.len());
            assert!(
                bins.iter().all(|bin| bin.first > quota || bin.last <= quota),
                "{largest} {quota}: {bins:?}"
            );
            assert!(bins.windows(2).all(|pair| pair[0].last < pair[1].first), "{bins:?}");
        }
    }

    #[test]
    fn a_curve_has_few_points() {
        assert_eq!(quotas(3), [0, 1, 2, 3]);
        assert!(quotas(u64::MAX / 4).len() <= 202);
    }
}
