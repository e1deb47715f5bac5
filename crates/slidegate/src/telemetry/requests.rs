//! Whole requests, by what came of them.

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;

/// How many requests there were since the start. Each is in exactly one of these; those that would have been refused are also
/// among those that were allowed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct RequestCounts {
    /// Admitted and charged.
    pub allowed: u64,
    /// Refused by a limit.
    pub denied: u64,
    /// Refused without asking any limit: a deny list, or a key that is missing.
    pub barred: u64,
    /// No rule applied.
    pub unlimited: u64,
    /// Looked at their limits only, at a cost of 0.
    pub looked: u64,
    /// Not answered, because the store was not there and no rule says what to do then.
    pub failed: u64,
    /// Sent again under one idempotency key, and answered as the first time.
    pub replayed: u64,
    /// Allowed, but a rule that only looks on would have refused them.
    pub would_deny: u64,
}

/// What came of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestOutcome {
    Allowed,
    Denied,
    Blocked,
    Unlimited,
    Looked,
    Failed,
    Replayed,
    /// Beside another.
    WouldDeny,
}

/// Those of [`RequestCounts`].
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
        let [allowed, denied, barred, unlimited, looked, failed, replayed, would_deny] = self.0.sums();
        RequestCounts { allowed, denied, barred, unlimited, looked, failed, replayed, would_deny }
    }
}
