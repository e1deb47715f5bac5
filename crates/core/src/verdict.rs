//! Answers: the decision of one limit, and the verdict on a request.

use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// Outcome under one limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Outcome {
    /// The cost fits.
    #[default]
    Fits,
    /// It does not fit now. It will after this many milliseconds, if nothing else is admitted.
    RetryAfter(u64),
    /// It is larger than the quota and can never fit.
    Never,
}

impl Outcome {
    /// Name, as in the HTTP API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fits => "fits",
            Self::RetryAfter(_) => "retry",
            Self::Never => "never",
        }
    }
}

/// Decision of one limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Decision {
    /// Outcome.
    pub outcome: Outcome,
    /// Largest cost that fits next: after the charge on an admission, unchanged on a denial.
    pub remaining: u64,
    /// Time until the key is idle, if nothing more is charged.
    pub reset_after_ms: u64,
    /// Stamp under which an admitted cost was recorded; 0 if nothing was.
    pub stamp_ms: u64,
}

impl Decision {
    #[inline(always)]
    fn fits(&self) -> bool {
        self.outcome == Outcome::Fits
    }
}

/// Source of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Source {
    /// The store: all numbers are exact.
    #[default]
    Store,
    /// The deny cache: an earlier denial that still applies. Only the wait is valid, as a lower
    /// bound.
    Cache,
    /// This node, from its share of the quota, because the store was unavailable.
    Local,
    /// None: the store was unavailable, and the configured answer was returned.
    Assumed,
}

impl Source {
    /// Name, as in the HTTP API.
    pub fn name(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Cache => "cache",
            Self::Local => "local",
            Self::Assumed => "assumed",
        }
    }

    /// True if limits were evaluated, so that the numbers of their decisions apply.
    #[inline]
    pub fn has_numbers(self) -> bool {
        matches!(self, Self::Store | Self::Local)
    }
}

/// Verdict on a request: admitted by all of its limits, or denied.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Time of the decision.
    pub decided_at_ms: u64,
    /// Source of the decision.
    pub source: Source,
    /// One decision per limit, in the order of the request.
    pub decisions: Decisions,
}

impl Verdict {
    /// Verdict of a store.
    #[inline(always)]
    pub fn new(decided_at_ms: u64, decisions: Decisions) -> Self {
        Self { decided_at_ms, source: Source::Store, decisions }
    }

    /// True if the request is admitted.
    #[inline(always)]
    pub fn is_allowed(&self) -> bool {
        // Without a loop for one or two limits: this is on the path of every request.
        match &self.decisions.0 {
            DecisionList::One([one]) => one.fits(),
            DecisionList::Two([one, two]) => one.fits() & two.fits(),
            DecisionList::Any(any) => any.iter().all(Decision::fits),
        }
    }

    /// True if the request is denied.
    #[inline]
    pub fn is_denied(&self) -> bool {
        !self.is_allowed()
    }

    /// Largest cost that all limits would admit now, in slots for in-flight limits; `None` without
    /// limits, and if no limit was evaluated. Protocols report the [`Summary`](crate::Summary) of a
    /// request.
    pub fn remaining(&self) -> Option<u64> {
        if !self.source.has_numbers() {
            return None;
        }
        self.decisions.iter().map(|decision| decision.remaining).min()
    }

    /// Wait after which every limit that denies will admit, if nothing else is charged; an upper
    /// bound for in-flight limits. `None` if the request was admitted, and if it can never be.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let mut longest = None;
        for decision in self.decisions.iter() {
            match decision.outcome {
                Outcome::Fits => {}
                Outcome::RetryAfter(ms) => longest = longest.max(Some(ms)),
                Outcome::Never => return None,
            }
        }
        longest
    }

    /// [`Verdict::retry_after_ms`] as a duration.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after_ms().map(Duration::from_millis)
    }

    /// True if some limit can never admit a cost this large.
    pub fn is_never(&self) -> bool {
        self.decisions.iter().any(|decision| decision.outcome == Outcome::Never)
    }

    /// Time until the key is idle under every limit, if nothing more is charged; `None` without
    /// limits, and if no limit was evaluated.
    pub fn reset_after_ms(&self) -> Option<u64> {
        if !self.source.has_numbers() {
            return None;
        }
        self.decisions.iter().map(|decision| decision.reset_after_ms).max()
    }
}

/// Text form: `allowed, 9 remaining`, `denied, retry after 700 ms`, `denied, cost exceeds the
/// limit`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_allowed() {
            return match self.remaining() {
                Some(remaining) => write!(f, "allowed, {remaining} remaining"),
                None => f.write_str("allowed"),
            };
        }
        match self.retry_after_ms() {
            Some(ms) => write!(f, "denied, retry after {ms} ms"),
            None => f.write_str("denied, cost exceeds the limit"),
        }
    }
}

/// Decisions of one verdict, a slice of [`Decision`]; up to two need no allocation.
#[derive(Clone, Debug)]
pub struct Decisions(DecisionList);

/// Storage of [`Decisions`].
#[derive(Clone, Debug)]
enum DecisionList {
    One([Decision; 1]),
    Two([Decision; 2]),
    Any(Vec<Decision>),
}

impl Default for Decisions {
    fn default() -> Self {
        Self(DecisionList::Any(Vec::new()))
    }
}

impl core::ops::Deref for Decisions {
    type Target = [Decision];

    #[inline]
    fn deref(&self) -> &[Decision] {
        match &self.0 {
            DecisionList::One(one) => one,
            DecisionList::Two(two) => two,
            DecisionList::Any(any) => any,
        }
    }
}

impl core::ops::DerefMut for Decisions {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Decision] {
        match &mut self.0 {
            DecisionList::One(one) => one,
            DecisionList::Two(two) => two,
            DecisionList::Any(any) => any,
        }
    }
}

impl From<[Decision; 1]> for Decisions {
    #[inline(always)]
    fn from(one: [Decision; 1]) -> Self {
        Self(DecisionList::One(one))
    }
}

impl From<[Decision; 2]> for Decisions {
    #[inline(always)]
    fn from(two: [Decision; 2]) -> Self {
        Self(DecisionList::Two(two))
    }
}

impl PartialEq for Decisions {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Decisions {}

impl FromIterator<Decision> for Decisions {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Self {
        let mut decisions = decisions.into_iter();
        let Some(one) = decisions.next() else { return Self::default() };
        let Some(two) = decisions.next() else { return Self::from([one]) };
        let Some(three) = decisions.next() else { return Self::from([one, two]) };
        Self(DecisionList::Any([one, two, three].into_iter().chain(decisions).collect()))
    }
}
