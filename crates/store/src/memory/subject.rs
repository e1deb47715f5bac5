//! Subject: the states of all its limits, and its permits.

use slidegate_core::{
    Attempt, Decision, Ledger, Limit, LimitAttempt, MAX_TIME_MS, Outcome, PermitState, SettleEffect, State,
    Verdict, decide, decide_pair, evaluate,
};
use smallvec::SmallVec;

use super::budget::{Budget, Footprint};
use super::bytes::max_growth;
use super::eviction::OutOfMemory;
use super::fullness::Fullness;
use crate::{ChargeRecord, MAX_LIMITS, SettleOutcome, Settlement};

/// The limits of one subject and its permits.
#[derive(Clone, Debug)]
pub(super) struct SubjectState {
    pub(super) group: u8,
    pub(super) denied: bool,
    /// Its share of the shard's budget.
    pub(super) budgeted: Footprint,
    pub(super) limit_states: SmallVec<[LimitState; 1]>,
    pub(super) ledger: Ledger,
}

/// Limit as it was last applied, and its state.
#[derive(Clone, Debug)]
pub(super) struct LimitState {
    pub(super) limit: Limit,
    pub(super) state: State,
}

impl LimitState {
    /// Whether it is the state of this limit, whose requests need no id.
    #[inline(always)]
    fn is_for(&self, limit: &Limit) -> bool {
        self.limit == *limit && !limit.needs_id()
    }
}

impl SubjectState {
    pub(super) fn new(group: u8) -> Self {
        Self {
            group,
            denied: false,
            budgeted: Footprint::NONE,
            limit_states: SmallVec::new(),
            ledger: Ledger::default(),
        }
    }

    /// A copy of what takes nothing on the heap, and so is a few words.
    pub(super) fn small_copy(&self) -> Option<Self> {
        (self.budgeted.heap_bytes == 0).then(|| self.clone())
    }

    pub(super) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.limit_states.iter().map(|limit_states| &limit_states.limit)
    }

    /// Decides where it is on the heap, if this limit is lined up and needs no id, and memory is
    /// not scarce; otherwise `None`, and nothing changed.
    #[inline(never)]
    pub(super) fn decide_one_on_heap(
        &mut self,
        budget: &mut Budget,
        limit: &Limit,
        (now_ms, cost): (u64, u64),
    ) -> Option<Decision> {
        let limit_states = self.limit_states.first_mut().filter(|limit_states| limit_states.is_for(limit))?;
        let before = limit_states.state.heap_bytes();
        if now_ms > MAX_TIME_MS || budget.is_tight(max_growth(before)) {
            return None;
        }
        let decision = limit_states.state.decide(limit, Attempt { now_ms, cost, holder: 0 });
        let grew = limit_states.state.heap_bytes() != before;
        self.set_denied(cost, decision.outcome == Outcome::Fits);
        if grew {
            self.update_budget(budget);
        }
        Some(decision)
    }

    /// The same for two limits.
    #[inline(never)]
    pub(super) fn decide_two_on_heap(
        &mut self,
        budget: &mut Budget,
        limits: (&Limit, &Limit),
        (now_ms, cost): (u64, u64),
    ) -> Option<[Decision; 2]> {
        let [first, second, ..] = self.limit_states.as_mut_slice() else { return None };
        let heap_bytes = |one: &State, two: &State| (one.heap_bytes(), two.heap_bytes());
        let before = heap_bytes(&first.state, &second.state);
        let is_ready = first.is_for(limits.0) && second.is_for(limits.1) && now_ms <= MAX_TIME_MS;
        if !is_ready || budget.is_tight(max_growth(before.0) + max_growth(before.1)) {
            return None;
        }
        let attempt = Attempt { now_ms, cost, holder: 0 };
        let (decisions, taken) = decide_pair((&mut first.state, &mut second.state), limits, attempt);
        let grew = heap_bytes(&first.state, &second.state) != before;
        self.set_denied(cost, taken);
        if grew {
            self.update_budget(budget);
        }
        Some(decisions)
    }

    /// Decides under all of these limits, which are lined up.
    pub(super) fn decide(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        let verdict = decide(&mut self.attempts(limits, attempt), attempt.now_ms);
        self.set_denied(attempt.cost, verdict.is_allowed());
        verdict
    }

    /// What [`SubjectState::decide`] would answer, without a charge.
    pub(super) fn evaluate(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        evaluate(&mut self.attempts(limits, attempt), attempt.now_ms)
    }

    /// Records whether the last charge was denied.
    #[inline(always)]
    pub(super) fn set_denied(&mut self, cost: u64, allowed: bool) {
        if cost != 0 {
            self.denied = !allowed;
        }
    }

    fn attempts<'a>(&'a mut self, limits: &'a [Limit], attempt: Attempt) -> SmallVec<[LimitAttempt<'a>; 4]> {
        let Attempt { cost, holder, .. } = attempt;
        let pairs = limits.iter().zip(&mut self.limit_states);
        pairs.map(|(limit, LimitState { state, .. })| LimitAttempt { limit, cost, holder, state }).collect()
    }

    /// Whether the first states are those of these limits, with these quotas.
    #[inline(always)]
    pub(super) fn is_aligned(&self, limits: &[Limit]) -> bool {
        limits.len() <= self.limit_states.len()
            && limits.iter().zip(&self.limit_states).all(|(limit, limit_states)| *limit == limit_states.limit)
    }

    /// Puts the states of these limits first, in their order; a limit without a history gets an
    /// empty one.
    pub(super) fn align(&mut self, limits: &[Limit]) {
        for (place, limit) in limits.iter().enumerate() {
            // Those before this place are taken: a limit that comes twice gets a second history,
            // not the first one's.
            let is_it = |index: &usize| self.limit_states[*index].limit.id() == limit.id();
            let from = (place..self.limit_states.len()).find(is_it).unwrap_or_else(|| {
                self.limit_states.push(LimitState { limit: *limit, state: State::new(limit) });
                self.limit_states.len() - 1
            });
            self.limit_states[from].limit = *limit;
            self.limit_states.swap(place, from);
        }
    }

    /// The limits as they are, to be put back after a peek.
    pub(super) fn terms(&self) -> SmallVec<[Limit; 1]> {
        self.limits().copied().collect()
    }

    /// Puts limits back that others took the place of for a peek: which limit counts when memory is
    /// short is up to charges.
    pub(super) fn restore(&mut self, terms: &[Limit]) {
        for LimitState { limit, .. } in &mut self.limit_states {
            if let Some(existing) = terms.iter().find(|existing| existing.id() == limit.id()) {
                *limit = *existing;
            }
        }
    }

    /// Fails if the subject has more live states than allowed.
    pub(super) fn check_bound(&mut self, now_ms: u64) -> Result<(), OutOfMemory> {
        if self.limit_states.len() <= MAX_LIMITS {
            return Ok(());
        }
        Err(OutOfMemory { retry_after_ms: self.fullness(now_ms).reset_after_ms.max(1) })
    }

    /// Settles a permit, once.
    pub(super) fn settle(
        &mut self,
        charged: &ChargeRecord<'_>,
        settlement: &Settlement<'_>,
    ) -> SettleOutcome {
        if charged.release_ms() <= settlement.now_ms {
            return SettleOutcome::Expired;
        }
        match (self.ledger.state(charged.grant), charged.grant.number) {
            (PermitState::Void, _) => return SettleOutcome::Void,
            (PermitState::Closed, _) => return SettleOutcome::AlreadySpent,
            (PermitState::Open, None) => {
                let released = self.replace(charged, settlement);
                return if released { SettleOutcome::Settled } else { SettleOutcome::AlreadySpent };
            }
            (PermitState::Open, Some(number)) => self.ledger.close(number),
        }
        // What is not there any more, though the ledger is, was given back without a permit.
        if self.replace(charged, settlement) { SettleOutcome::Settled } else { SettleOutcome::Void }
    }

    /// Replaces the recorded charge without a look at the ledger; returns whether any of it
    /// existed.
    pub(super) fn replace(&mut self, charged: &ChargeRecord<'_>, settlement: &Settlement<'_>) -> bool {
        let mut found = false;
        for (limit, receipt) in &charged.receipts {
            if let Some(limit_states) = self.limit_states.iter_mut().find(|t| t.limit.id() == *limit) {
                let cost = settlement.cost_of(*limit);
                let settled =
                    limit_states.state.settle(&limit_states.limit, receipt, cost, settlement.now_ms);
                found |= settled == SettleEffect::Done;
            }
        }
        found
    }

    /// Fullness, after expired state is dropped.
    pub(super) fn fullness(&mut self, now_ms: u64) -> Fullness {
        self.ledger.prune(now_ms);
        let fullnesses = self.limit_states.iter_mut().map(|t| Fullness::of(&t.limit, &mut t.state, now_ms));
        fullnesses.fold(Fullness::EMPTY, Fullness::and)
    }

    /// Whether it has permits.
    pub(super) fn has_permits(&self) -> bool {
        !self.ledger.is_empty()
    }

    /// Whether it has neither state nor permits.
    pub(super) fn is_empty(&self) -> bool {
        self.limit_states.is_empty() && self.ledger.is_empty()
    }

    /// Drops idle states and expired permits.
    pub(super) fn drop_idle(&mut self, now_ms: u64) {
        self.ledger.prune(now_ms);
        self.limit_states.retain(|t| Fullness::of(&t.limit, &mut t.state, now_ms) != Fullness::EMPTY);
    }

    /// Whether a request under these limits can be decided where the subject is: they are lined up,
    /// and there is memory to grow.
    pub(super) fn is_ready(&self, budget: &Budget, limits: &[Limit]) -> bool {
        let more = Footprint::heap(self.growth());
        self.is_aligned(limits) && budget.shortage(self.group, more).is_none()
    }

    /// Updates the budget after a decision in place, on the heap.
    #[cold]
    pub(super) fn update_budget(&mut self, budget: &mut Budget) {
        self.set_footprint(budget, self.budgeted.with_heap(self.heap_bytes()));
    }

    /// Records its footprint in the budget.
    pub(super) fn set_footprint(&mut self, budget: &mut Budget, footprint: Footprint) {
        budget.change(self.group, self.budgeted, footprint);
        self.budgeted = footprint;
    }
}
