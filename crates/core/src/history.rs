//! [`History`]: the operations of every algorithm on the state of a key.

use core::hint::cold_path;

use crate::limit::Limit;
use crate::time::MAX_TIME_MS;
use crate::verdict::{Decision, Outcome};

/// Standing of a key under a limit at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Largest cost that fits now.
    pub remaining: u64,
    /// Time until the key is idle, if nothing more is charged.
    pub reset_after_ms: u64,
}

/// Attempt: a cost at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// Time.
    pub now_ms: u64,
    /// Units to charge; 0 is a peek, and always fits.
    pub cost: u64,
    /// Unique id of the holder, for in-flight limits.
    pub holder: u64,
}

/// History: the state of one key under one limit. A cost fits if it is at most what remains,
/// whatever the algorithm.
pub trait History {
    /// Result of a peek, which recording uses again.
    type View: Copy;

    /// Largest cost that fits now. Drops what has left the window, and repairs stamps of a clock
    /// that stepped back; changes nothing else.
    fn peek(&mut self, limit: &Limit, now_ms: u64) -> (u64, Self::View);

    /// Time until the key is idle, if nothing more is charged.
    fn reset_after_ms(&self, limit: &Limit, now_ms: u64, view: Self::View) -> u64;

    /// View after a peek at the same time, for callers that did not keep it.
    fn view(&self, limit: &Limit, now_ms: u64) -> Self::View;

    /// Wait until a cost that does not fit now, but is not above the ceiling, fits, if nothing else
    /// is admitted.
    fn wait_ms(&self, limit: &Limit, attempt: Attempt, view: Self::View) -> u64;

    /// Largest cost that can ever be admitted.
    #[inline(always)]
    fn ceiling(limit: &Limit) -> u64 {
        limit.ceiling()
    }

    /// `wait_ms` and `reset_after_ms` in one call, for what they have in common.
    #[inline(always)]
    fn refuse(&self, limit: &Limit, attempt: Attempt, view: Self::View) -> (u64, u64) {
        (self.wait_ms(limit, attempt, view), self.reset_after_ms(limit, attempt.now_ms, view))
    }

    /// Writes a cost that fits; returns its stamp and the new `reset_after_ms`.
    fn record(&mut self, limit: &Limit, attempt: Attempt, view: Self::View) -> (u64, u64);

    /// Removes `cost` units, the oldest first and no more than there are. In-flight slots stay
    /// taken.
    fn give_back(&mut self, limit: &Limit, attempt: Attempt, view: Self::View);

    /// Time for which the state still matters, but only under other limits of the same id.
    fn lingers_ms(&self, _now_ms: u64) -> u64 {
        0
    }

    /// Standing of the key.
    fn standing(&mut self, limit: &Limit, now_ms: u64) -> Standing {
        let now_ms = now_ms.min(MAX_TIME_MS);
        let (remaining, view) = self.peek(limit, now_ms);
        Standing { remaining, reset_after_ms: self.reset_after_ms(limit, now_ms, view) }
    }
}

/// Decides one limit by itself, and writes only on an admission.
#[inline(always)]
pub fn decide_one<H: History>(history: &mut H, limit: &Limit, attempt: Attempt) -> Decision {
    let mut attempt = attempt;
    if attempt.now_ms > MAX_TIME_MS {
        cold_path();
        attempt.now_ms = MAX_TIME_MS;
    }
    let (remaining, view) = history.peek(limit, attempt.now_ms);
    if attempt.cost != 0 && attempt.cost <= remaining {
        take(history, limit, attempt, (remaining, view))
    } else {
        cold_path();
        leave(history, limit, attempt, (remaining, view))
    }
}

/// Evaluates one limit without a charge: its decision where another limit denies the request.
#[inline]
pub fn evaluate_one<H: History>(history: &mut H, limit: &Limit, attempt: Attempt) -> Decision {
    let attempt = Attempt { now_ms: attempt.now_ms.min(MAX_TIME_MS), ..attempt };
    let peeked = history.peek(limit, attempt.now_ms);
    leave(history, limit, attempt, peeked)
}

/// Writes the cost, which fits.
#[inline(always)]
pub(crate) fn take<H: History>(
    history: &mut H,
    limit: &Limit,
    attempt: Attempt,
    (remaining, view): (u64, H::View),
) -> Decision {
    let (stamp_ms, reset_after_ms) = history.record(limit, attempt, view);
    Decision { outcome: Outcome::Fits, remaining: remaining - attempt.cost, reset_after_ms, stamp_ms }
}

/// Decision without a charge: of a peek, of a cost that does not fit, or if another limit denies.
#[inline(always)]
pub(crate) fn leave<H: History>(
    history: &H,
    limit: &Limit,
    attempt: Attempt,
    (remaining, view): (u64, H::View),
) -> Decision {
    let (outcome, reset_after_ms) = if attempt.cost <= remaining {
        (Outcome::Fits, history.reset_after_ms(limit, attempt.now_ms, view))
    } else if attempt.cost > H::ceiling(limit) {
        (Outcome::Never, history.reset_after_ms(limit, attempt.now_ms, view))
    } else {
        let (wait_ms, reset_after_ms) = history.refuse(limit, attempt, view);
        (Outcome::RetryAfter(wait_ms), reset_after_ms)
    };
    Decision { outcome, remaining, reset_after_ms, stamp_ms: 0 }
}
