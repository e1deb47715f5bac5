//! Summary of a request: the numbers of all its limits as one. Every protocol reports these.

use core::borrow::Borrow;

use crate::limit::Limit;
use crate::verdict::{Decision, Outcome, Source};

/// Time until a refused request would be admitted, if nothing else is admitted meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Wait {
    /// No limit denies.
    #[default]
    None,
    /// Exactly this many milliseconds: one earlier, it is refused.
    After(u64),
    /// At most this many milliseconds: it needs an in-flight slot, which may be released at any
    /// time.
    Within(u64),
    /// Never: the cost is more than a limit can admit.
    Never,
}

impl Wait {
    /// Wait of a single limit.
    #[inline]
    pub fn of(limit: &Limit, decision: &Decision) -> Self {
        match decision.outcome {
            Outcome::Fits => Self::None,
            Outcome::RetryAfter(ms) if limit.needs_id() => Self::Within(ms),
            Outcome::RetryAfter(ms) => Self::After(ms),
            Outcome::Never => Self::Never,
        }
    }

    /// Wait for both: the longer one, and the exact one of two that are equally long.
    #[inline]
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if other.rank() > self.rank() { other } else { self }
    }

    fn rank(self) -> (u8, u64, bool) {
        match self {
            Self::None => (0, 0, false),
            Self::Within(ms) => (1, ms, false),
            Self::After(ms) => (1, ms, true),
            Self::Never => (2, 0, false),
        }
    }

    /// Wait, if it is exact.
    #[inline]
    pub fn exact_ms(self) -> Option<u64> {
        match self {
            Self::After(ms) => Some(ms),
            Self::None | Self::Within(_) | Self::Never => None,
        }
    }

    /// Upper bound of the wait, if only that is known.
    #[inline]
    pub fn at_most_ms(self) -> Option<u64> {
        match self {
            Self::Within(ms) => Some(ms),
            Self::None | Self::After(_) | Self::Never => None,
        }
    }
}

/// Numbers of a request, from all limits that apply to it.
///
/// ```
/// use slidegate_core::{Decision, Limit, Outcome, Source, Summary, Wait};
///
/// let limits = [Limit::per_minute(5), Limit::per_hour(12)];
/// let decision = |outcome, remaining, reset_after_ms| Decision { outcome, remaining, reset_after_ms, stamp_ms: 0 };
/// let decisions = [
///     decision(Outcome::RetryAfter(60_000), 0, 60_000),
///     decision(Outcome::Fits, 7, 3_600_000),
/// ];
/// let summary = Summary::new(Source::Store, limits.iter().zip(&decisions));
/// assert_eq!((summary.quota, summary.remaining), (Some(5), Some(0)));
/// assert_eq!((summary.wait, summary.reset_after_ms), (Wait::After(60_000), Some(3_600_000)));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// Index of the limit with the least remaining, the first of equal ones; if no limit was
    /// evaluated, of the one with the longest wait. `None` if no limit bounds the cost.
    pub tightest: Option<usize>,
    /// Quota of that limit.
    pub quota: Option<u64>,
    /// Largest cost that fits now: the least remaining of all limits. An in-flight limit takes one
    /// slot whatever the cost, so it is among them only if it is full. `None` if no limit bounds
    /// the cost, and if no limit was evaluated.
    pub remaining: Option<u64>,
    /// Longest wait of the limits that deny.
    pub wait: Wait,
    /// Time until the key is idle under all limits: the longest. `None` without limits, and if no
    /// limit was evaluated.
    pub reset_after_ms: Option<u64>,
}

impl Summary {
    /// Summary of one limit.
    #[inline]
    pub fn single(source: Source, limit: &Limit, decision: &Decision) -> Self {
        let has_numbers = source.has_numbers();
        let bounds = !has_numbers || !limit.needs_id() || decision.remaining == 0;
        Self {
            tightest: bounds.then_some(0),
            quota: bounds.then_some(limit.quota()),
            remaining: (has_numbers && bounds).then_some(decision.remaining),
            wait: Wait::of(limit, decision),
            reset_after_ms: has_numbers.then_some(decision.reset_after_ms),
        }
    }

    /// Summary of limits in the order of the file, each with its decision, from `source`.
    #[inline]
    pub fn new<'a, L: Borrow<Limit>>(
        source: Source,
        limits: impl IntoIterator<Item = (L, &'a Decision)>,
    ) -> Self {
        let has_numbers = source.has_numbers();
        let mut summary = Self::default();
        let mut longest = Wait::None;
        // By `for_each`, which nested iterators run as nested loops.
        limits.into_iter().enumerate().for_each(|(index, (limit, decision))| {
            let limit = limit.borrow();
            let wait = Wait::of(limit, decision);
            let tighter = if has_numbers {
                let bounds = !limit.needs_id() || decision.remaining == 0;
                bounds && summary.remaining.is_none_or(|least| decision.remaining < least)
            } else {
                index == 0 || wait.rank() > longest.rank()
            };
            if tighter {
                summary.tightest = Some(index);
                summary.quota = Some(limit.quota());
                summary.remaining = has_numbers.then_some(decision.remaining);
            }
            longest = longest.and(wait);
            summary.reset_after_ms =
                summary.reset_after_ms.max(has_numbers.then_some(decision.reset_after_ms));
        });
        Self { wait: longest, ..summary }
    }
}

#[cfg(test)]
mod tests {
    use core::iter::once;
    use core::time::Duration;

    use super::*;

    #[test]
    fn one_limit_has_the_summary_of_a_list_of_one() {
        let limits = [Limit::per_minute(5), Limit::in_flight(3, Duration::from_secs(9)).expect("a limit")];
        let outcomes = [Outcome::Fits, Outcome::RetryAfter(70), Outcome::Never];
        let sources = [Source::Store, Source::Cache, Source::Local, Source::Assumed];
        for limit in limits {
            for (outcome, source, remaining) in outcomes.into_iter().flat_map(|outcome| {
                sources
                    .into_iter()
                    .flat_map(move |source| [0, 2].map(|remaining| (outcome, source, remaining)))
            }) {
                let decision = Decision { outcome, remaining, reset_after_ms: 60, stamp_ms: 0 };
                let expected = Summary::new(source, once((limit, &decision)));
                assert_eq!(Summary::single(source, &limit, &decision), expected, "{limit} {decision:?}");
            }
        }
    }
}
