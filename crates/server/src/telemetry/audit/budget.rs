//! Budget of audit lines about unauthenticated requests.
//!
//! A client without a token can cause any number of refusals. At most [`PER_SECOND`] of them have a
//! line in any second; the others are counted, and the next line or a summary has their number.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::TARGET;

/// Maximum number of lines in any second.
const PER_SECOND: usize = 10;
const SECOND: Duration = Duration::from_secs(1);

/// Budget of audit lines about refusals without authentication.
#[derive(Default, Debug)]
pub(crate) struct AuditBudget(Mutex<BudgetState>);

/// Counts of refusals without authentication since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct AuditStats {
    /// Number written as a line.
    pub(crate) written: u64,
    /// Number that was only counted.
    pub(crate) left_out: u64,
}

#[derive(Default, Debug)]
struct BudgetState {
    /// Times of the lines of the last second.
    recent: VecDeque<Instant>,
    stats: AuditStats,
    /// Number of reported omissions.
    reported: u64,
}

/// Decision about the line of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineDecision {
    /// Written, with the number of refusals left out since the previous line.
    Written {
        left_out: Option<u64>,
    },
    LeftOut,
}

impl AuditBudget {
    /// Counts a refusal, and decides whether it has a line.
    pub(super) fn admit(&self, now: Instant) -> LineDecision {
        let mut budget = self.0.lock();
        if !budget.has_room(now) {
            budget.stats.left_out += 1;
            return LineDecision::LeftOut;
        }
        budget.recent.push_back(now);
        budget.stats.written += 1;
        LineDecision::Written { left_out: budget.unreported() }
    }

    /// Number of refusals left out, if no line was written for a second.
    fn summary(&self, now: Instant) -> Option<u64> {
        let mut budget = self.0.lock();
        let is_quiet = budget.recent.back().is_none_or(|last| now.duration_since(*last) >= SECOND);
        if !is_quiet || budget.stats.left_out == budget.reported {
            return None;
        }
        // The summary is a line like the others.
        budget.recent.clear();
        budget.recent.push_back(now);
        budget.unreported()
    }

    /// Reports the refusals that no line has reported yet.
    pub(crate) fn finish(&self) {
        if let Some(left_out) = self.0.lock().unreported() {
            report(left_out);
        }
    }

    pub(crate) fn stats(&self) -> AuditStats {
        self.0.lock().stats
    }
}

impl BudgetState {
    fn has_room(&mut self, now: Instant) -> bool {
        while self.recent.front().is_some_and(|at| now.duration_since(*at) >= SECOND) {
            self.recent.pop_front();
        }
        self.recent.len() < PER_SECOND
    }

    fn unreported(&mut self) -> Option<u64> {
        let before = std::mem::replace(&mut self.reported, self.stats.left_out);
        Some(self.stats.left_out - before).filter(|left_out| *left_out > 0)
    }
}

/// Reports refusals left out that no other line reports. Never returns.
pub(crate) async fn summarise(budget: Arc<AuditBudget>) {
    loop {
        tokio::time::sleep(SECOND).await;
        if let Some(left_out) = budget.summary(Instant::now()) {
            report(left_out);
        }
    }
}

fn report(left_out: u64) {
    tracing::info!(target: TARGET, outcome = "refused", left_out, "unauthenticated refusals were left out");
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn written(admission: LineDecision) -> Option<Option<u64>> {
        match admission {
            LineDecision::Written { left_out } => Some(left_out),
            LineDecision::LeftOut => None,
        }
    }

    #[test]
    fn a_flood_has_ten_lines_in_any_second_and_every_refusal_is_counted() {
        let (refusals, start) = (AuditBudget::default(), Instant::now());
        let lines: Vec<_> = (0..10_000)
            .filter_map(|n| {
                let at = start + n * MS;
                Some((at, written(refusals.admit(at))?))
            })
            .collect();
        for (at, _) in &lines {
            let within = lines.iter().filter(|(other, _)| *other <= *at && *at - *other < SECOND).count();
            assert!(within <= PER_SECOND, "{within} lines in a second");
        }
        let reported: u64 = lines.iter().filter_map(|(_, left_out)| *left_out).sum();
        let AuditStats { written, left_out } = refusals.stats();
        assert_eq!((written, written + left_out), (lines.len() as u64, 10_000));
        let last = refusals.summary(start + 11_000 * MS);
        assert_eq!(reported + last.unwrap_or(0), left_out, "lines and summary add up");
    }

    #[test]
    fn a_summary_waits_for_a_second_without_a_line() {
        let (refusals, start) = (AuditBudget::default(), Instant::now());
        assert_eq!(refusals.summary(start), None);
        for _ in 0..PER_SECOND {
            assert_eq!(written(refusals.admit(start)), Some(None));
        }
        assert_eq!(written(refusals.admit(start)), None);
        assert_eq!(refusals.summary(start + 999 * MS), None);
        assert_eq!(refusals.summary(start + 1_000 * MS), Some(1));
        assert_eq!(refusals.summary(start + 9_000 * MS), None);
    }
}
