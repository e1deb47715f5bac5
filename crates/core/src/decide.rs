//! Decisions on all limits of a request: all are charged, or none.

use core::hint::cold_path;

use crate::history::{Attempt, History, leave, take};
use crate::limit::Limit;
use crate::state::State;
use crate::time::MAX_TIME_MS;
use crate::verdict::{Decision, Outcome, Verdict};

/// Attempt of a request on the state of one limit.
#[derive(Debug)]
pub struct LimitAttempt<'a> {
    /// Limit.
    pub limit: &'a Limit,
    /// Units to charge; 0 is a peek, and always fits.
    pub cost: u64,
    /// Unique id of the holder, for in-flight limits.
    pub holder: u64,
    /// State of the key under the limit.
    pub state: &'a mut State,
}

impl LimitAttempt<'_> {
    #[inline(always)]
    fn attempt(&self, now_ms: u64) -> Attempt {
        Attempt { now_ms, cost: self.cost, holder: self.holder }
    }

    fn evaluate(&mut self, now_ms: u64) -> Decision {
        let (remaining, ()) = self.state.peek(self.limit, now_ms);
        self.leave(remaining, now_ms)
    }

    /// Decision without a charge.
    fn leave(&self, remaining: u64, now_ms: u64) -> Decision {
        leave(self.state, self.limit, self.attempt(now_ms), (remaining, ()))
    }

    /// Writes the cost, which fits.
    #[inline(always)]
    fn take(&mut self, remaining: u64, now_ms: u64) -> Decision {
        take(self.state, self.limit, self.attempt(now_ms), (remaining, ()))
    }
}

/// Evaluates a request without a charge; `remaining` is what is left before it.
pub fn evaluate(attempts: &mut [LimitAttempt<'_>], now_ms: u64) -> Verdict {
    let now_ms = now_ms.min(MAX_TIME_MS);
    Verdict::new(now_ms, attempts.iter_mut().map(|attempt| attempt.evaluate(now_ms)).collect())
}

/// Decides a request: evaluates every limit, and charges all of them if every cost fits.
///
/// Charges of one request on the same state have to be summed by the caller.
pub fn decide(attempts: &mut [LimitAttempt<'_>], now_ms: u64) -> Verdict {
    let mut verdict = evaluate(attempts, now_ms);
    charge(attempts, &mut verdict.decisions, verdict.decided_at_ms);
    verdict
}

/// [`decide`] for two limits on one subject with one cost, without a list and without intermediate
/// answers. Also returns whether the cost was written.
#[inline(always)]
pub fn decide_pair<A: History, B: History>(
    (first, second): (&mut A, &mut B),
    (one, two): (&Limit, &Limit),
    attempt: Attempt,
) -> ([Decision; 2], bool) {
    let attempt = Attempt { now_ms: attempt.now_ms.min(MAX_TIME_MS), ..attempt };
    let views = (first.peek(one, attempt.now_ms), second.peek(two, attempt.now_ms));
    if attempt.cost != 0 && attempt.cost <= views.0.0 && attempt.cost <= views.1.0 {
        ([take(first, one, attempt, views.0), take(second, two, attempt, views.1)], true)
    } else {
        cold_path();
        ([leave(first, one, attempt, views.0), leave(second, two, attempt, views.1)], false)
    }
}

/// Writes every cost, if all of them fit.
fn charge(attempts: &mut [LimitAttempt<'_>], evaluated: &mut [Decision], now_ms: u64) {
    if evaluated.iter().any(|decision| decision.outcome != Outcome::Fits) {
        return;
    }
    for (attempt, decision) in attempts.iter_mut().zip(evaluated) {
        if attempt.cost != 0 {
            *decision = attempt.take(decision.remaining, now_ms);
        }
    }
}
