//! Subject: the states of all its limits, and its permits.

use slidegate_core::{
    Attempt, Decision, History, Limit, LimitAttempt, MAX_TIME_MS, OpenPermits, Outcome, PermitState,
    SettleEffect, State, Verdict, decide, decide_pair, evaluate,
};
use smallvec::SmallVec;

use super::budget::{Budget, Footprint};
use super::bytes::max_growth;
use super::eviction::OutOfMemory;
use super::fullness::Fullness;
use crate::{ChargeRecord, MAX_LIMITS, SettleOutcome, Settlement};

/// State of one subject: its limits and its permits.
#[derive(Clone, Debug)]
pub(super) struct SubjectState {
    pub(super) group: u8,
    pub(super) denied: bool,
    /// Its share of the shard's budget.
    pub(super) budgeted: Footprint,
    pub(super) limit_states: SmallVec<[LimitState; 1]>,
    pub(super) permits: OpenPermits,
}

/// Limit as it was last applied, and its state.
#[derive(Clone, Debug)]
pub(super) struct LimitState {
    pub(super) limit: Limit,
    pub(super) state: State,
}

impl LimitState {
    /// True if it is the state of this limit, and its requests need no id.
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
            permits: OpenPermits::default(),
        }
    }

    /// Copy of a subject without heap memory, which is a few words.
    pub(super) fn small_copy(&self) -> Option<Self> {
        (self.budgeted.heap_bytes == 0).then(|| self.clone())
    }

    pub(super) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.limit_states.iter().map(|one| &one.limit)
    }

    /// Decides in place on the heap. `None`, and nothing changed, unless this limit is aligned and
    /// needs no id, and memory is not scarce.
    #[inline(never)]
    pub(super) fn decide_one_on_heap(
        &mut self,
        budget: &mut Budget,
        limit: &Limit,
        (now_ms, cost): (u64, u64),
    ) -> Option<Decision> {
        let first = self.limit_states.first_mut().filter(|one| one.is_for(limit))?;
        let before = first.state.heap_bytes();
        if now_ms > MAX_TIME_MS || budget.is_tight(max_growth(before)) {
            return None;
        }
        let decision = first.state.decide(limit, Attempt { now_ms, cost, holder: 0 });
        let grew = first.state.heap_bytes() != before;
        self.set_denied(cost, decision.outcome == Outcome::Fits);
        if grew {
            self.update_budget(budget);
        }
        Some(decision)
    }

    /// [`SubjectState::decide_one_on_heap`] for two limits.
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
        let (decisions, charged) = decide_pair((&mut first.state, &mut second.state), limits, attempt);
        let grew = heap_bytes(&first.state, &second.state) != before;
        self.set_denied(cost, charged);
        if grew {
            self.update_budget(budget);
        }
        Some(decisions)
    }

    /// Decides under all of these limits, which are aligned.
    pub(super) fn decide(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        let verdict = match (limits, self.limit_states.as_mut_slice()) {
            ([limit], [LimitState { state, .. }, ..]) => {
                Verdict::new(attempt.now_ms.min(MAX_TIME_MS), [state.decide(limit, attempt)].into())
            }
            _ => decide(&mut self.attempts(limits, attempt), attempt.now_ms),
        };
        self.set_denied(attempt.cost, verdict.is_allowed());
        verdict
    }

    /// Verdict of [`SubjectState::decide`], without a charge.
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

    /// Whether the cost fits all of these limits, which are aligned.
    pub(super) fn fits_after_peek(&mut self, limits: &[Limit], attempt: Attempt) -> bool {
        let mut pairs = limits.iter().zip(&mut self.limit_states);
        pairs.all(|(limit, one)| attempt.cost <= one.state.peek(limit, attempt.now_ms).0)
    }

    fn attempts<'a>(&'a mut self, limits: &'a [Limit], attempt: Attempt) -> SmallVec<[LimitAttempt<'a>; 4]> {
        let Attempt { cost, holder, .. } = attempt;
        let pairs = limits.iter().zip(&mut self.limit_states);
        pairs.map(|(limit, LimitState { state, .. })| LimitAttempt { limit, cost, holder, state }).collect()
    }

    /// True if the first states are those of these limits, with these quotas.
    #[inline(always)]
    pub(super) fn is_aligned(&self, limits: &[Limit]) -> bool {
        limits.len() <= self.limit_states.len()
            && limits.iter().zip(&self.limit_states).all(|(limit, one)| *limit == one.limit)
    }

    /// Puts the states of these limits first, in their order; a limit without a history gets an
    /// empty one.
    pub(super) fn align(&mut self, limits: &[Limit]) {
        for (index, limit) in limits.iter().enumerate() {
            // Those before this index are in use: a limit that occurs twice gets a second history.
            let is_it = |at: &usize| self.limit_states[*at].limit.id() == limit.id();
            let from = (index..self.limit_states.len()).find(is_it).unwrap_or_else(|| {
                self.limit_states.push(LimitState { limit: *limit, state: State::new(limit) });
                self.limit_states.len() - 1
            });
            self.limit_states[from].limit = *limit;
            self.limit_states.swap(index, from);
        }
    }

    /// Restores the limits from before a peek: only charges change the limit by which eviction
    /// judges a subject.
    pub(super) fn restore(&mut self, before: &[Limit]) {
        for LimitState { limit, .. } in &mut self.limit_states {
            if let Some(existing) = before.iter().find(|existing| existing.id() == limit.id()) {
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
        match (self.permits.state(charged.grant), charged.grant.number) {
            (PermitState::Void, _) => return SettleOutcome::Void,
            (PermitState::Closed, _) => return SettleOutcome::AlreadySpent,
            (PermitState::Open, None) => {
                let released = self.replace(charged, settlement);
                return if released { SettleOutcome::Settled } else { SettleOutcome::AlreadySpent };
            }
            (PermitState::Open, Some(number)) => self.permits.close(number),
        }
        // An open permit without its charge: the units were given back without the permit.
        if self.replace(charged, settlement) { SettleOutcome::Settled } else { SettleOutcome::Void }
    }

    /// Replaces the recorded charge, whatever the state of its permit; returns whether any of it
    /// existed.
    pub(super) fn replace(&mut self, charged: &ChargeRecord<'_>, settlement: &Settlement<'_>) -> bool {
        let mut found = false;
        for (limit, receipt) in &charged.receipts {
            if let Some(one) = self.limit_states.iter_mut().find(|one| one.limit.id() == *limit) {
                let cost = settlement.cost_of(*limit);
                let effect = one.state.settle(&one.limit, receipt, cost, settlement.now_ms);
                found |= effect == SettleEffect::Done;
            }
        }
        found
    }

    /// Fullness, after expired state is dropped.
    pub(super) fn fullness(&mut self, now_ms: u64) -> Fullness {
        self.permits.prune(now_ms);
        let fullnesses = self.limit_states.iter_mut().map(|t| Fullness::of(&t.limit, &mut t.state, now_ms));
        fullnesses.fold(Fullness::EMPTY, Fullness::and)
    }

    /// True if it has permits.
    pub(super) fn has_permits(&self) -> bool {
        !self.permits.is_empty()
    }

    /// True if it has neither state nor permits.
    pub(super) fn is_empty(&self) -> bool {
        self.limit_states.is_empty() && self.permits.is_empty()
    }

    /// Forgets everything but what is on lease.
    pub(super) fn reset(&mut self) {
        self.denied = false;
        self.permits = OpenPermits::default();
        self.limit_states.iter_mut().for_each(|one| one.state.reset(&one.limit));
        self.limit_states.retain(|one| matches!(one.state, State::LeaseLog(_)));
    }

    /// Drops idle states and leases, and expired permits.
    pub(super) fn drop_idle(&mut self, now_ms: u64) {
        self.permits.prune(now_ms);
        self.limit_states.retain(|t| Fullness::of(&t.limit, &mut t.state, now_ms) != Fullness::EMPTY);
        self.limit_states.iter_mut().for_each(|one| one.state.drop_idle_leases());
    }

    /// True if a request under these limits can be decided in place: they are aligned, and there is
    /// memory to grow.
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
        if footprint != self.budgeted {
            budget.change(self.group, self.budgeted, footprint);
            self.budgeted = footprint;
        }
    }
}
