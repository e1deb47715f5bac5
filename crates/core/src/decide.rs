//! One request, all of its limits: everything is charged, or nothing.

use crate::limit::Limit;
use crate::state::{Standing, State};
use crate::time::MAX_TIME_MS;
use crate::verdict::{Decision, Outcome, Verdict};

/// What a request asks of one limit.
#[derive(Debug)]
pub struct Ask<'a> {
    /// The limit.
    pub limit: &'a Limit,
    /// Units asked for; 0 only looks, and always fits.
    pub cost: u64,
    /// An id that no other holder has, for in-flight limits.
    pub holder: u64,
    /// What the limit remembers of the key.
    pub state: &'a mut State,
}

impl Ask<'_> {
    #[inline]
    fn look(&mut self, now_ms: u64) -> Standing {
        self.state.look(self.limit, now_ms)
    }

    /// The answer if the request as a whole is refused, or only looks.
    #[inline]
    fn leave(&self, standing: Standing, now_ms: u64) -> Decision {
        let outcome = if self.cost <= standing.remaining {
            Outcome::Fits
        } else if self.cost > self.limit.ceiling() {
            Outcome::Never
        } else {
            Outcome::RetryAfter(self.state.wait_ms(self.limit, self.cost, now_ms))
        };
        let Standing { remaining, reset_after_ms } = standing;
        Decision { outcome, remaining, reset_after_ms, stamp_ms: 0 }
    }

    /// Writes the cost, which fits.
    #[inline]
    fn take(&mut self, standing: Standing, now_ms: u64) -> Decision {
        let (stamp_ms, reset_after_ms) = self.state.record(self.limit, self.cost, now_ms, self.holder);
        let remaining = standing.remaining - self.cost;
        Decision { outcome: Outcome::Fits, remaining, reset_after_ms, stamp_ms }
    }
}

/// Decides one limit by itself.
#[inline]
pub fn decide_one(ask: &mut Ask<'_>, now_ms: u64) -> Decision {
    let now_ms = now_ms.min(MAX_TIME_MS);
    let standing = ask.look(now_ms);
    if ask.cost != 0 && ask.cost <= standing.remaining {
        ask.take(standing, now_ms)
    } else {
        ask.leave(standing, now_ms)
    }
}

/// Decides a request: looks at every limit, and charges all of them if every cost fits.
///
/// Charges of one request on the same state have to be summed by the caller.
pub fn decide(asks: &mut [Ask<'_>], now_ms: u64) -> Verdict {
    let now_ms = now_ms.min(MAX_TIME_MS);
    let mut decisions: crate::Decisions = asks
        .iter_mut()
        .map(|ask| {
            let standing = ask.look(now_ms);
            ask.leave(standing, now_ms)
        })
        .collect();
    let admitted = decisions.iter().all(|decision| decision.outcome == Outcome::Fits);
    if admitted {
        for (ask, decision) in asks.iter_mut().zip(decisions.iter_mut()) {
            if ask.cost != 0 {
                let Decision { remaining, reset_after_ms, .. } = *decision;
                *decision = ask.take(Standing { remaining, reset_after_ms }, now_ms);
            }
        }
    }
    Verdict { decided_at_ms: now_ms, decisions }
}
