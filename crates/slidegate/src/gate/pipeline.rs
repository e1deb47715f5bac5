//! Pipeline of a decision: the charges of some items, the store's answer, and what follows from it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::Guard;
use slidegate_core::{Decisions, Verdict};
use slidegate_policy::{HitMode, Policy};
use slidegate_store::{Admission, Grants, IdempotentOutcome, RefundScope, Store};

use super::Gate;
use super::active_policy::ActivePolicy;
use super::answer::Answer;
use super::charges::{Charges, Permits, refund_scope};
use super::follow_up::{FollowUp, FollowUpOf, needs_follow_up};
use super::item::MatchedItem;
use super::request::{CheckRequest, GateError};
use super::wait::WaitFlag;
use crate::clock::Clock;

/// Options of a decision.
#[derive(Clone, Copy)]
pub(super) struct DecisionOptions<'a> {
    pub(super) permits: Permits,
    pub(super) idempotency_key: Option<&'a str>,
    pub(super) wait: Duration,
    pub(super) wait_flag: Option<&'a WaitFlag>,
}

/// Options of a batch. It opens no permits, and a rule that denies because the store is unavailable
/// is no decision: proxies have a failure mode of their own.
pub(super) const BATCH: DecisionOptions<'static> =
    DecisionOptions { permits: Permits::None, idempotency_key: None, wait: Duration::ZERO, wait_flag: None };

impl<'a> DecisionOptions<'a> {
    pub(super) fn of(request: &'a CheckRequest<'_>) -> Self {
        Self {
            permits: Permits::Open,
            idempotency_key: request.idempotency_key.as_deref(),
            wait: request.wait,
            wait_flag: None,
        }
    }
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Decides items: the one pipeline of requests and batches. [`Gate::check_now`] takes the same
    /// steps without a future.
    pub(super) async fn decide_items(
        &self,
        policy: Arc<ActivePolicy>,
        items: &[MatchedItem<'_>],
        options: DecisionOptions<'_>,
    ) -> Result<Answer, GateError<S::Error>> {
        let charges = Charges::enforced(&policy, items, self.batch_space, options.permits);
        if items.len() > 1 {
            charges.check_bound()?;
        }
        for rule in items.iter().flat_map(|item| &item.skipped) {
            policy.record_skip(*rule);
        }
        let id = self.id(&policy, items, (&charges, options.permits));
        let decided = self.decide(&charges, id, options).await;
        self.report(&policy, items, options.permits, decided.as_ref());
        let (mut admission, id, replayed) = match decided? {
            IdempotentOutcome::Decided(admission) => (admission, id, false),
            // Both answers have the same permit.
            IdempotentOutcome::Replayed { admission, holder } => (admission, id.map(|_| holder), true),
            IdempotentOutcome::Conflict => return Err(GateError::Conflict),
            IdempotentOutcome::Full => {
                self.full.fetch_add(1, Ordering::Relaxed);
                return Err(GateError::Full);
            }
        };
        let mut follow_up = FollowUp { replayed, ..FollowUp::default() };
        if needs_follow_up(items, id, &admission.verdict) {
            let key = options.idempotency_key.filter(|_| charges.charges.is_empty());
            let follow_up_of = FollowUpOf { charges: &charges, permits: options.permits, id, key };
            // In a box, as all that few requests come to: the others would carry the room for it.
            let follow_up_later = self.follow_up(&policy, items, follow_up_of, &mut admission, replayed);
            follow_up = Box::pin(follow_up_later).await.map_err(GateError::Store)?;
        }
        drop(charges);
        let nodes = self.store.nodes();
        Ok(Answer::new(Guard::from_inner(policy), items, admission.verdict, follow_up, nodes))
    }

    /// Decides the enforced limits.
    async fn decide(
        &self,
        charges: &Charges<'_>,
        id: Option<u64>,
        options: DecisionOptions<'_>,
    ) -> Result<IdempotentOutcome, GateError<S::Error>> {
        let decided = if charges.charges.is_empty() {
            Ok(IdempotentOutcome::Decided(Verdict::new(self.clock.now_ms(), Decisions::default()).into()))
        } else if options.wait.is_zero() {
            self.decide_once(charges, id, options).await
        } else {
            Box::pin(self.decide_waiting(charges, id, options)).await
        };
        let mut outcome = decided.map_err(GateError::Store)?;
        if let IdempotentOutcome::Decided(Admission { verdict, grants }) = &mut outcome {
            if *grants == Grants::TooManyOpen {
                self.settled.refuse_permit();
                return Err(GateError::too_many_permits(verdict));
            }
            if options.permits == Permits::None {
                self.decide_overlaid(&charges.charges, verdict).await.map_err(GateError::Store)?;
            }
        }
        Ok(outcome)
    }

    /// One attempt.
    pub(super) async fn decide_once(
        &self,
        charges: &Charges<'_>,
        id: Option<u64>,
        options: DecisionOptions<'_>,
    ) -> Result<IdempotentOutcome, S::Error> {
        let request = charges.request(self.clock.now_ms(), id);
        match options.idempotency_key {
            Some(key) => self.store.decide_idempotent(&request, key.as_bytes()).await,
            None if charges.is_refundable() => {
                self.store.reserve(&request).await.map(IdempotentOutcome::Decided)
            }
            None => {
                let verdict = self.store.decide(&request.charge).await?;
                Ok(IdempotentOutcome::Decided(verdict.into()))
            }
        }
    }
}

impl<S, C> Gate<S, C> {
    /// Id of a request that takes a slot in flight or may be given back.
    #[inline]
    pub(super) fn id(
        &self,
        policy: &Policy,
        items: &[MatchedItem<'_>],
        (charges, permits): (&Charges<'_>, Permits),
    ) -> Option<u64> {
        let mut observed = items.iter().flat_map(|item| item.hits_in(HitMode::Observe));
        let needs_id = charges.needs_id()
            || observed.any(|hit| refund_scope(policy, hit, permits) != RefundScope::Nothing);
        needs_id.then(|| self.next_id())
    }
}
