//! Counts of requests by outcome.

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;

/// Number of requests by outcome, since the start. Each request has exactly one outcome, except
/// that those in `would_deny` are also in `allowed`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RequestCounts {
    /// Admitted and charged.
    pub allowed: u64,
    /// Denied by a limit.
    pub denied: u64,
    /// Blocked without evaluating a limit: by a deny list, or for a missing key.
    pub blocked: u64,
    /// No rule applied.
    pub unlimited: u64,
    /// Peeks, at a cost of 0.
    pub peeked: u64,
    /// Failed, because the store was unavailable and no rule configures an answer.
    pub failed: u64,
    /// Repeated under an idempotency key, with the first answer.
    pub replayed: u64,
    /// Allowed, but denied by a rule in observe mode.
    pub would_deny: u64,
}

/// Outcome of a request, in the order of the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestOutcome {
    Allowed,
    Denied,
    Blocked,
    Unlimited,
    Peeked,
    Failed,
    Replayed,
    /// In addition to another outcome.
    WouldDeny,
}

/// Number of fields of [`RequestCounts`].
const COUNTERS: usize = 8;

#[derive(Debug)]
pub(super) struct RequestCounters(Striped<COUNTERS>);

impl RequestCounters {
    pub(super) fn new() -> Self {
        Self(Striped::new())
    }

    #[inline]
    pub(super) fn count(&self, stripe: ThreadStripe, outcome: RequestOutcome) {
        self.0.add(stripe, outcome as usize);
    }

    pub(super) fn sums(&self) -> RequestCounts {
        let [allowed, denied, blocked, unlimited, peeked, failed, replayed, would_deny] = self.0.sums();
        RequestCounts { allowed, denied, blocked, unlimited, peeked, failed, replayed, would_deny }
    }
}
