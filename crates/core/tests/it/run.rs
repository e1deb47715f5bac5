//! A key under one limit, with a true time and a clock that may be wrong.

use std::time::Duration;

use slidegate_core::{
    Attempt, Decision, Limit, LimitKind, Outcome, Receipt, Resolution, SettleEffect, State, give_back_one,
};

use crate::trace::Step;

/// A key under one limit, and everything that a property may want to know of its past.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) limit: Limit,
    pub(crate) state: State,
    /// Time as it passes, whatever the clock says.
    pub(crate) true_ms: u64,
    /// How far the clock is off.
    pub(crate) off_ms: i64,
    pub(crate) admitted: Vec<Admission>,
}

/// Where a key stands at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    pub(crate) remaining: u64,
    pub(crate) reset_after_ms: u64,
}

/// A cost that was admitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admission {
    pub(crate) true_ms: u64,
    pub(crate) cost: u64,
    pub(crate) receipt: Receipt,
}

impl Run {
    pub(crate) fn new(limit: Limit, start_ms: u64) -> Self {
        Self { limit, state: State::new(&limit), true_ms: start_ms, off_ms: 0, admitted: Vec::new() }
    }

    /// What the clock says.
    pub(crate) fn now_ms(&self) -> u64 {
        self.true_ms.saturating_add_signed(self.off_ms)
    }

    /// Asks for a cost now.
    pub(crate) fn check(&mut self, cost: u64) -> Decision {
        let (now_ms, holder) = (self.now_ms(), self.admitted.len() as u64);
        let decision = self.state.decide(&self.limit, Attempt { now_ms, cost, holder });
        if decision.outcome == Outcome::Fits && cost > 0 {
            let receipt = Receipt { stamp_ms: decision.stamp_ms, cost, holder };
            self.admitted.push(Admission { true_ms: self.true_ms, cost, receipt });
        }
        decision
    }

    /// What a check would answer after a wait, without making it.
    pub(crate) fn probe(&self, after_ms: u64, cost: u64) -> Decision {
        let mut run = self.clone();
        run.true_ms += after_ms;
        run.check(cost)
    }

    /// Settles an admission as often as it is asked to: permits are not this type's business.
    pub(crate) fn settle(&mut self, of: usize, cost: u64) -> SettleEffect {
        let now_ms = self.now_ms();
        self.state.settle(&self.limit, &self.admitted[of].receipt, cost, now_ms)
    }

    /// Gives units back now.
    pub(crate) fn give_back(&mut self, units: u64) -> Decision {
        let attempt = Attempt { now_ms: self.now_ms(), cost: units, holder: 0 };
        give_back_one(&mut self.state, &self.limit, attempt)
    }

    /// Applies several.
    pub(crate) fn apply_all(&mut self, steps: &[Step]) {
        for step in steps {
            self.apply(step);
        }
    }

    /// Where the key stands; a repair of the clock is kept, as it is in a store.
    pub(crate) fn peek(&mut self) -> Standing {
        let now_ms = self.now_ms();
        peek(&mut self.state, &self.limit, now_ms)
    }

    /// Applies a step; gives the decision of a check, and the answer to what is given back.
    pub(crate) fn apply(&mut self, step: &Step) -> Option<Decision> {
        match *step {
            Step::Check { after_ms, cost } => {
                self.true_ms += after_ms;
                return Some(self.check(cost));
            }
            // A clock does not go below 0, and goes on from there.
            Step::Clock { by_ms } => self.off_ms = (self.off_ms + by_ms).max(-(self.true_ms as i64)),
            Step::Settle { of, cost } => {
                if let Some(index) = of.checked_rem(self.admitted.len()) {
                    self.settle(index, cost);
                }
            }
            Step::GiveBack { units } => return Some(self.give_back(units)),
            Step::Quota(quota) => self.limit = with_quota(&self.limit, quota),
            Step::Resolution(ms) => {
                self.limit = self.limit.resolution(Resolution::Ms(ms)).unwrap_or(self.limit);
            }
            Step::Burst(burst) => self.limit = self.limit.gcra(burst).unwrap_or(self.limit),
        }
        None
    }

    /// The most units admitted in any window of true time.
    pub(crate) fn most_in_a_window(&self) -> u64 {
        let window_ms = self.limit.window_ms();
        let ending_at = |end: &Admission| -> u64 {
            let inside = |a: &&Admission| a.true_ms <= end.true_ms && a.true_ms + window_ms > end.true_ms;
            self.admitted.iter().filter(inside).map(|a| a.cost).sum()
        };
        self.admitted.iter().map(ending_at).max().unwrap_or(0)
    }
}

/// Where a key stands: what a peek answers.
pub(crate) fn peek(state: &mut State, limit: &Limit, now_ms: u64) -> Standing {
    let Decision { remaining, reset_after_ms, .. } =
        state.decide(limit, Attempt { now_ms, cost: 0, holder: 0 });
    Standing { remaining, reset_after_ms }
}

/// The same limit with another quota, where it allows that.
pub(crate) fn with_quota(limit: &Limit, quota: u64) -> Limit {
    let window = Duration::from_millis(limit.window_ms());
    let log = Limit::new(quota, window);
    let changed = match limit.kind() {
        LimitKind::Log { resolution_ms } => log.and_then(|log| log.resolution(Resolution::Ms(resolution_ms))),
        LimitKind::Counter => log.and_then(Limit::counter),
        LimitKind::Fixed => log.and_then(Limit::fixed),
        LimitKind::Gcra { burst } => log.and_then(|log| log.gcra(burst)),
        LimitKind::InFlight => Limit::in_flight(quota, window),
    };
    changed.unwrap_or(*limit)
}
