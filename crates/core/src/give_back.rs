//! Units given back without a permit: the oldest first, and never below zero.

use crate::decide::LimitAttempt;
use crate::history::{Attempt, History, leave};
use crate::limit::Limit;
use crate::settle::MAX_DEBT;
use crate::time::MAX_TIME_MS;
use crate::verdict::{Decision, Verdict};

/// Gives [`LimitAttempt::cost`] units back under each limit, and returns the state afterwards, as a
/// peek does.
///
/// Units do not have names: a permit for them that is settled later takes no more than is left
/// where it was recorded.
pub fn give_back(attempts: &mut [LimitAttempt<'_>], now_ms: u64) -> Verdict {
    let now_ms = now_ms.min(MAX_TIME_MS);
    let give = |attempt: &mut LimitAttempt<'_>| {
        let LimitAttempt { limit, cost, holder, ref mut state } = *attempt;
        give_back_one(*state, limit, Attempt { now_ms, cost, holder })
    };
    Verdict::new(now_ms, attempts.iter_mut().map(give).collect())
}

/// [`give_back`] under one limit: `cost` is how many units.
pub fn give_back_one<H: History>(history: &mut H, limit: &Limit, attempt: Attempt) -> Decision {
    let now_ms = attempt.now_ms.min(MAX_TIME_MS);
    // No count is larger. More at once would not be exact in a double.
    let attempt = Attempt { now_ms, cost: attempt.cost.min(MAX_DEBT), ..attempt };
    if attempt.cost > 0 {
        let (_, view) = history.peek(limit, now_ms);
        history.give_back(limit, attempt, view);
    }
    let view = history.peek(limit, now_ms);
    leave(history, limit, Attempt { cost: 0, ..attempt }, view)
}
