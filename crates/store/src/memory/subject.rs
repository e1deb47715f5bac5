//! Everything that is remembered of one subject.

use slidegate_core::{
    Attempt, Decision, Ledger, Limit, LimitAttempt, MAX_TIME_MS, Outcome, PermitState, SettleEffect, State,
    Verdict, decide, decide_pair, evaluate,
};
use smallvec::SmallVec;

use super::budget::{Books, Footprint};
use super::bytes::most_growth;
use super::eviction::NoRoom;
use super::fullness::Fill;
use crate::{ChargeRecord, MAX_LIMITS, SettleOutcome, Settlement};

/// The limits of one subject and its permits.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) group: u8,
    pub(super) denied: bool,
    /// What the shard's books have for it.
    pub(super) booked: Footprint,
    pub(super) tracked: SmallVec<[Tracked; 1]>,
    pub(super) ledger: Ledger,
}

/// One limit as it was last applied, and what it remembers.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    pub(super) limit: Limit,
    pub(super) state: State,
}

impl Tracked {
    /// Whether it is what this limit remembers, and its requests need no id.
    #[inline(always)]
    fn is_for(&self, limit: &Limit) -> bool {
        self.limit == *limit && !limit.needs_id()
    }
}

impl Subject {
    pub(super) fn new(group: u8) -> Self {
        Self {
            group,
            denied: false,
            booked: Footprint::NONE,
            tracked: SmallVec::new(),
            ledger: Ledger::default(),
        }
    }

    /// A copy of what takes nothing on the heap, and so is a few words.
    pub(super) fn small_copy(&self) -> Option<Self> {
        (self.booked.heap_bytes == 0).then(|| self.clone())
    }

    pub(super) fn limits(&self) -> impl Iterator<Item = &Limit> {
        self.tracked.iter().map(|tracked| &tracked.limit)
    }

    /// Decides where it is on the heap, if this limit is lined up and needs no id, and memory is not scarce; otherwise
    /// `None`, and nothing changed.
    #[inline(never)]
    pub(super) fn decide_one_in_place(
        &mut self,
        books: &mut Books,
        limit: &Limit,
        (now_ms, cost): (u64, u64),
    ) -> Option<Decision> {
        let tracked = self.tracked.first_mut().filter(|tracked| tracked.is_for(limit))?;
        let before = tracked.state.heap_bytes();
        if now_ms > MAX_TIME_MS || books.is_tight(most_growth(before)) {
            return None;
        }
        let decision = tracked.state.decide(limit, Attempt { now_ms, cost, holder: 0 });
        let grew = tracked.state.heap_bytes() != before;
        self.note(cost, decision.outcome == Outcome::Fits);
        if grew {
            self.rebook(books);
        }
        Some(decision)
    }

    /// The same for two limits.
    #[inline(never)]
    pub(super) fn decide_two_in_place(
        &mut self,
        books: &mut Books,
        limits: (&Limit, &Limit),
        (now_ms, cost): (u64, u64),
    ) -> Option<[Decision; 2]> {
        let [first, second, ..] = self.tracked.as_mut_slice() else { return None };
        let held = |one: &State, two: &State| (one.heap_bytes(), two.heap_bytes());
        let before = held(&first.state, &second.state);
        let is_ready = first.is_for(limits.0) && second.is_for(limits.1) && now_ms <= MAX_TIME_MS;
        if !is_ready || books.is_tight(most_growth(before.0) + most_growth(before.1)) {
            return None;
        }
        let attempt = Attempt { now_ms, cost, holder: 0 };
        let (decisions, taken) = decide_pair((&mut first.state, &mut second.state), limits, attempt);
        let grew = held(&first.state, &second.state) != before;
        self.note(cost, taken);
        if grew {
            self.rebook(books);
        }
        Some(decisions)
    }

    /// Decides under all of these limits, which are lined up.
    pub(super) fn decide(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        let verdict = decide(&mut self.attempts(limits, attempt), attempt.now_ms);
        self.note(attempt.cost, verdict.is_allowed());
        verdict
    }

    /// What [`Subject::decide`] would answer, without a charge.
    pub(super) fn evaluate(&mut self, limits: &[Limit], attempt: Attempt) -> Verdict {
        evaluate(&mut self.attempts(limits, attempt), attempt.now_ms)
    }

    /// Remembers whether the last answer was a refusal.
    #[inline(always)]
    pub(super) fn note(&mut self, cost: u64, allowed: bool) {
        if cost != 0 {
            self.denied = !allowed;
        }
    }

    fn attempts<'a>(&'a mut self, limits: &'a [Limit], attempt: Attempt) -> SmallVec<[LimitAttempt<'a>; 4]> {
        let Attempt { cost, holder, .. } = attempt;
        let pairs = limits.iter().zip(&mut self.tracked);
        pairs.map(|(limit, Tracked { state, .. })| LimitAttempt { limit, cost, holder, state }).collect()
    }

    /// Whether the first states are those of these limits, with these quotas.
    #[inline(always)]
    pub(super) fn is_lined_up(&self, limits: &[Limit]) -> bool {
        limits.len() <= self.tracked.len()
            && limits.iter().zip(&self.tracked).all(|(limit, tracked)| *limit == tracked.limit)
    }

    /// Puts the states of these limits first, in their order; a limit without a history gets an empty one.
    pub(super) fn line_up(&mut self, limits: &[Limit]) {
        for (place, limit) in limits.iter().enumerate() {
            // Those before this place are taken: a limit that comes twice gets a second history, not the first one's.
            let is_it = |index: &usize| self.tracked[*index].limit.id() == limit.id();
            let from = (place..self.tracked.len()).find(is_it).unwrap_or_else(|| {
                self.tracked.push(Tracked { limit: *limit, state: State::new(limit) });
                self.tracked.len() - 1
            });
            self.tracked[from].limit = *limit;
            self.tracked.swap(place, from);
        }
    }

    /// The limits as they are, to be put back after a peek.
    pub(super) fn terms(&self) -> SmallVec<[Limit; 1]> {
        self.limits().copied().collect()
    }

    /// Puts limits back that others took the place of for a peek: which limit counts when memory is short is up to charges.
    pub(super) fn restore(&mut self, terms: &[Limit]) {
        for Tracked { limit, .. } in &mut self.tracked {
            if let Some(known) = terms.iter().find(|known| known.id() == limit.id()) {
                *limit = *known;
            }
        }
    }

    /// Refuses more live histories than a subject may have.
    pub(super) fn check_bound(&mut self, now_ms: u64) -> Result<(), NoRoom> {
        if self.tracked.len() <= MAX_LIMITS {
            return Ok(());
        }
        Err(NoRoom { retry_after_ms: self.fill(now_ms).reset_after_ms.max(1) })
    }

    /// Replaces what a permit recorded here, once.
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

    /// Replaces what was recorded, whatever the ledger says; whether any of it was found.
    pub(super) fn replace(&mut self, charged: &ChargeRecord<'_>, settlement: &Settlement<'_>) -> bool {
        let mut found = false;
        for (limit, receipt) in &charged.receipts {
            if let Some(tracked) = self.tracked.iter_mut().find(|t| t.limit.id() == *limit) {
                let cost = settlement.cost_of(*limit);
                let settled = tracked.state.settle(&tracked.limit, receipt, cost, settlement.now_ms);
                found |= settled == SettleEffect::Done;
            }
        }
        found
    }

    /// Forgets what has no effect any more and tells how full the rest is.
    pub(super) fn fill(&mut self, now_ms: u64) -> Fill {
        self.ledger.prune(now_ms);
        let fills = self.tracked.iter_mut().map(|t| Fill::of(&t.limit, &mut t.state, now_ms));
        fills.fold(Fill::EMPTY, Fill::and)
    }

    /// Whether it knows of permits.
    pub(super) fn has_permits(&self) -> bool {
        !self.ledger.is_empty()
    }

    /// Whether nothing is remembered.
    pub(super) fn is_empty(&self) -> bool {
        self.tracked.is_empty() && self.ledger.is_empty()
    }

    /// Drops histories that are as if never seen, and permits that have no effect any more.
    pub(super) fn drop_idle(&mut self, now_ms: u64) {
        self.ledger.prune(now_ms);
        self.tracked.retain(|t| Fill::of(&t.limit, &mut t.state, now_ms) != Fill::EMPTY);
    }

    /// Whether a request under these limits can be decided where the subject is: they are lined up, and there is memory
    /// to grow.
    pub(super) fn is_ready(&self, books: &Books, limits: &[Limit]) -> bool {
        let more = Footprint::heap(self.growth());
        self.is_lined_up(limits) && books.lacks(self.group, more).is_none()
    }

    /// Brings the books up to date after a decision where it is, on the heap.
    #[cold]
    pub(super) fn rebook(&mut self, books: &mut Books) {
        self.book(books, self.booked.with_heap(self.heap_bytes()));
    }

    /// Enters what it takes into the books.
    pub(super) fn book(&mut self, books: &mut Books, footprint: Footprint) {
        books.change(self.group, self.booked, footprint);
        self.booked = footprint;
    }
}
