//! Fallback: answers while a store is unavailable.

mod sources;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use slidegate_core::{Decision, Limit, LimitKind, Outcome, Source, Verdict};

use super::idempotency::IdempotencyCache;
use super::memory::Memory;
use super::{
    Admission, Charge, ChargeRequest, ForgetRequest, Grants, IdempotentOutcome, Note, Notes, PostOutcome,
    RefundScope, ReserveRequest, SettleOutcome, Settlement, Store,
};
use crate::key::Space;

use sources::SourceCounters;
pub use sources::SourceCounts;

/// Retry time of a request that is denied during an outage.
const TRY_AGAIN_MS: u64 = 1_000;

/// Answer while the store is unavailable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum OnStoreError {
    /// Each node decides with its share of the quota.
    #[default]
    Local,
    /// Allow everything.
    Allow,
    /// Deny everything.
    Deny,
}

/// Store with a fallback for outages.
///
/// The state of this node records what the store admits, so that the node knows its own usage when
/// it has to decide. While the store is unavailable, a node admits in any window at most its share:
/// the quota divided by the number of nodes, but at least 1. All nodes together then admit at most
/// the quota, or one per node if that is more; in a window that contains the beginning or the end
/// of an outage, at most twice that.
#[derive(Debug)]
pub struct Fallback<S> {
    store: S,
    local: Memory,
    nodes: u64,
    default_mode: OnStoreError,
    /// Read only while the store fails.
    rules: RwLock<HashMap<Space, OnStoreError>>,
    failures: AtomicU64,
    answers: SourceCounters,
    /// Answers of this node under idempotency keys.
    idempotency: IdempotencyCache,
}

impl<S: Store> Fallback<S> {
    /// Falls back to this node's share of each quota, as one of `nodes`.
    pub fn new(store: S, nodes: u32) -> Self {
        Self {
            store,
            local: Memory::default().beside_another(),
            nodes: u64::from(nodes.max(1)),
            default_mode: OnStoreError::Local,
            rules: RwLock::default(),
            failures: AtomicU64::new(0),
            answers: SourceCounters::default(),
            idempotency: IdempotencyCache::new(),
        }
    }

    /// Sets the answer for all rules without one of their own.
    pub fn on_store_error(self, default_mode: OnStoreError) -> Self {
        Self { default_mode, ..self }
    }

    /// Sets the answer for the rule, or limiter, of this name.
    pub fn rule(self, name: &str, on_store_error: OnStoreError) -> Self {
        Store::on_store_error(&self, Space::named(name), on_store_error);
        self
    }

    /// Memory bound of this node's own state, in bytes.
    pub fn max_memory(self, bytes: usize) -> Self {
        Self { local: Memory::new(bytes).beside_another(), ..self }
    }

    /// The store behind it.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Number of requests that the store failed to answer.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Number of answers by source. A request with rules in observe mode counts several times.
    pub fn answers(&self) -> SourceCounts {
        self.answers.counts()
    }

    /// State of this node, which decides during outages.
    pub fn local(&self) -> &Memory {
        &self.local
    }

    fn count_failure(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    /// Configured answer for each charge.
    fn modes(&self, call: &ChargeRequest<'_>) -> Vec<OnStoreError> {
        let rules = self.rules.read().unwrap_or_else(PoisonError::into_inner);
        let mode = |charge: &Charge<'_>| rules.get(&charge.space).copied().unwrap_or(self.default_mode);
        call.charges.iter().map(mode).collect()
    }

    /// Records what the store admitted.
    fn warm(&self, call: &ChargeRequest<'_>, verdict: &Verdict) {
        if verdict.is_allowed() && call.charges.iter().any(|charge| charge.cost != 0) {
            // By the store's clock, so that a permit names the same stamps here as there.
            let _ = self.local.decide_now(&ChargeRequest { now_ms: verdict.decided_at_ms, ..*call });
        }
    }

    fn decide_fallback(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.reserve_fallback(&ReserveRequest::without_refunds(*call)).verdict
    }

    fn reserve_fallback(&self, request: &ReserveRequest<'_>) -> Admission {
        let call = &request.charge;
        let modes = self.modes(call);
        // A request that is denied anyway is a peek.
        let refused = modes.contains(&OnStoreError::Deny);
        let cost = |charge: &Charge<'_>| if refused { 0 } else { charge.cost };
        let charges = call.charges.iter().map(|charge| Charge { cost: cost(charge), ..*charge });
        let charges: Vec<Charge<'_>> = charges.collect();
        // A charge that is not recorded cannot be given back.
        let is_local = |charge: usize| modes[charge] == OnStoreError::Local;
        let local = (0..charges.len()).filter(|charge| is_local(*charge));
        let refunds: Vec<RefundScope> = local.map(|charge| request.refund_scope(charge)).collect();
        let mut all_grants = Grants::Nothing;
        let call = ChargeRequest { charges: &charges, ..*call };
        let verdict = self.answer_fallback(&call, &modes, |local_charges| {
            let admission =
                self.local.reserve_now(&ReserveRequest { charge: *local_charges, refunds: &refunds });
            all_grants = admission.grants;
            admission.verdict
        });
        if let Grants::Permits(grants) = &mut all_grants {
            let mut own = std::mem::take(grants).into_iter();
            *grants = (0..charges.len())
                .map(|charge| is_local(charge).then(|| own.next()).flatten().flatten())
                .collect();
        }
        Admission { verdict, grants: all_grants }
    }

    /// Verdict from this node's shares for the charges that it decides, and from the configured
    /// answers for the others.
    fn answer_fallback(
        &self,
        call: &ChargeRequest<'_>,
        modes: &[OnStoreError],
        decide_local: impl FnOnce(&ChargeRequest<'_>) -> Verdict,
    ) -> Verdict {
        let shares: Vec<Vec<Limit>> = call
            .charges
            .iter()
            .map(|charge| charge.limits.iter().map(|limit| share(limit, self.nodes)).collect())
            .collect();
        let local_charges =
            call.charges.iter().zip(&shares).zip(modes).filter(|(_, mode)| **mode == OnStoreError::Local);
        let local_charges: Vec<Charge<'_>> =
            local_charges.map(|((charge, limits), _)| Charge { limits, ..*charge }).collect();
        let local = decide_local(&ChargeRequest { charges: &local_charges, ..*call });
        let mut local_decisions = local.decisions.iter().copied();
        let decisions = call.charges.iter().zip(modes).flat_map(|(charge, mode)| {
            let decisions: Vec<Decision> = match mode {
                OnStoreError::Local => local_decisions.by_ref().take(charge.limits.len()).collect(),
                OnStoreError::Allow => vec![Decision::default(); charge.limits.len()],
                OnStoreError::Deny => vec![refusal(); charge.limits.len()],
            };
            decisions
        });
        let decisions = decisions.collect();
        let all_local = modes.iter().all(|mode| *mode == OnStoreError::Local);
        let source = if all_local { Source::Local } else { Source::Assumed };
        Verdict { decided_at_ms: call.now_ms, source, decisions }
    }
}

/// Share of a limit: the quota of one of `nodes` nodes, with the same history.
pub fn share(limit: &Limit, nodes: u64) -> Limit {
    let part = |whole: u64| (whole / nodes).max(1);
    let [head, quota, window_ms, extra] = limit.to_words();
    let extra = if matches!(limit.kind(), LimitKind::Gcra { .. }) { part(extra) } else { extra };
    let shared = |extra| Limit::from_words([head, part(quota), window_ms, extra]);
    // A quota is rounded down, and may then be too slow for its part of a burst that drains slowly.
    shared(extra).or_else(|_| shared(1)).unwrap_or(*limit)
}

fn refusal() -> Decision {
    Decision { outcome: Outcome::RetryAfter(TRY_AGAIN_MS), ..Decision::default() }
}

impl<S: Store> Store for Fallback<S> {
    type Error = S::Error;

    const HAS_DENY_CACHE: bool = S::HAS_DENY_CACHE;

    fn expect_refunds(&self, space: Space) {
        self.store.expect_refunds(space);
    }

    fn on_store_error(&self, space: Space, answer: OnStoreError) {
        self.rules.write().unwrap_or_else(PoisonError::into_inner).insert(space, answer);
        self.store.on_store_error(space, answer);
    }

    fn clear_deny_cache(&self) {
        self.store.clear_deny_cache();
    }

    fn nodes(&self) -> u64 {
        self.nodes
    }

    async fn decide(&self, call: &ChargeRequest<'_>) -> Result<Verdict, S::Error> {
        let verdict = match self.store.decide(call).await {
            Ok(verdict) => {
                self.warm(call, &verdict);
                verdict
            }
            Err(_) => {
                self.count_failure();
                self.decide_fallback(call)
            }
        };
        self.answers.add(verdict.source);
        Ok(verdict)
    }

    /// A request that this node answered during an outage, and that is repeated when the store is
    /// back, is decided by the store like any other: the shared quota was not charged yet.
    async fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> Result<IdempotentOutcome, S::Error> {
        let call = &request.charge;
        let outcome = match self.store.decide_idempotent(request, idempotency_key).await {
            Ok(outcome) => {
                // A replayed answer was recorded here when it was decided.
                if let IdempotentOutcome::Decided(admission) = &outcome
                    && admission.is_admitted()
                {
                    self.warm(call, &admission.verdict);
                }
                outcome
            }
            Err(_) => {
                self.count_failure();
                self.idempotency.decide(call, idempotency_key, || self.reserve_fallback(request))
            }
        };
        if let IdempotentOutcome::Decided(admission) | IdempotentOutcome::Replayed { admission, .. } =
            &outcome
        {
            self.answers.add(admission.verdict.source);
        }
        Ok(outcome)
    }

    async fn reserve(&self, request: &ReserveRequest<'_>) -> Result<Admission, S::Error> {
        let admission = match self.store.reserve(request).await {
            Ok(admission) => {
                if admission.is_admitted() {
                    self.warm(&request.charge, &admission.verdict);
                }
                admission
            }
            Err(_) => {
                self.count_failure();
                self.reserve_fallback(request)
            }
        };
        self.answers.add(admission.verdict.source);
        Ok(admission)
    }

    /// Permits of this node are settled by this node, which alone has them. What the store settles
    /// is settled here too.
    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Vec<SettleOutcome>, S::Error> {
        let mut outcomes = self.local.settle_now(settlement);
        let is_own =
            |outcome: &SettleOutcome| matches!(outcome, SettleOutcome::Settled | SettleOutcome::AlreadySpent);
        // A request may have been answered by both: rules in observe mode are decided separately.
        let others: Vec<usize> = (0..outcomes.len()).filter(|index| !is_own(&outcomes[*index])).collect();
        if others.is_empty() {
            return Ok(outcomes);
        }
        let subjects = others.iter().map(|index| settlement.subjects[*index].clone()).collect();
        let rest = Settlement { subjects, ..*settlement };
        let settled = self.store.settle(&rest).await?;
        let here = rest.subjects.iter().zip(&settled);
        let here = here.filter(|(_, outcome)| **outcome == SettleOutcome::Settled);
        let subjects = here.map(|(subject, _)| subject.clone()).collect();
        self.local.replace_now(&Settlement { subjects, ..*settlement });
        others.into_iter().zip(settled).for_each(|(index, outcome)| outcomes[index] = outcome);
        Ok(outcomes)
    }

    /// Units that could not be given back to an unavailable store stay used there until they leave
    /// their windows. This node gives them back in its own state.
    async fn give_back(&self, call: &ChargeRequest<'_>) -> Result<Verdict, S::Error> {
        match self.store.give_back(call).await {
            Ok(verdict) => {
                // By the store's clock, by which its admissions were recorded here.
                let _ = self.local.give_back_now(&ChargeRequest { now_ms: verdict.decided_at_ms, ..*call });
                Ok(verdict)
            }
            Err(_) => {
                self.count_failure();
                Ok(self.answer_fallback(call, &self.modes(call), |local_charges| {
                    self.local.give_back_now(local_charges)
                }))
            }
        }
    }

    /// Deletes the state of this node too, whether the store answers or not.
    async fn forget(&self, subject: &ForgetRequest<'_>) -> Result<(), S::Error> {
        self.local.forget_now(subject);
        self.store.forget(subject).await
    }

    async fn post(&self, note: &Note, now_ms: u64) -> Result<PostOutcome, S::Error> {
        self.store.post(note, now_ms).await
    }

    async fn withdraw(&self, id: &str) -> Result<bool, S::Error> {
        self.store.withdraw(id).await
    }

    async fn notes(&self) -> Result<Notes, S::Error> {
        self.store.notes().await
    }
}

#[cfg(test)]
mod tests {
    use super::share;
    use slidegate_core::Limit;

    /// Also where a rounded quota would be too slow for its part of the burst.
    #[test]
    fn a_share_is_never_the_whole() {
        let slow = Limit::per_day(3);
        let most = (1 << 47) / 86_400_000 * 3;
        for burst in [1, 7, most] {
            let limit = slow.gcra(burst).expect("a meter");
            let part = share(&limit, 2);
            assert_eq!(part.quota(), 1);
            assert!(part.ceiling() <= burst.div_ceil(2), "{part:?} of {limit:?}");
        }
    }
}
