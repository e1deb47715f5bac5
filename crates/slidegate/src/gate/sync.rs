//! Decisions without a future, over the memory of this process.

use std::sync::Arc;

use arc_swap::Guard;
use slidegate_core::{Decisions, Limit, Verdict};

use super::active_policy::{ActivePolicy, ActiveSet};
use super::charges::{Charges, Permits};
use super::follow_up::{FollowUp, FollowUpOf, needs_follow_up};
use super::in_flight::split_charges;
use super::item::MatchedItem;
#[cfg(feature = "tower")]
use super::settlement::debt_units;
use super::{Answer, Gate, GateError, SettlementReport};
use crate::clock::Clock;
use crate::permit::{Refundable, UnsignedPermit};
use slidegate_policy::{Hit, Request};
#[cfg(feature = "tower")]
use slidegate_store::SettleOutcome;
use slidegate_store::memory::PreparedLimits;
use slidegate_store::{
    Admission, Charge, ChargeRequest, Grants, Key, Memory, RefundScope, ReserveRequest, Space, SyncStore,
};

impl<S: SyncStore, C: Clock> Gate<S, C> {
    /// [`Gate::check`] without a future. `None`, and nothing is decided, unless the state is in
    /// memory.
    #[inline]
    pub fn check_now(&self, request: &Request<'_>) -> Result<Option<Answer>, GateError<S::Error>> {
        self.check_now_with(request, |_| {})
    }

    /// [`Gate::check_now`], which calls `read` with the rules that apply, in the order of the policy,
    /// each with its subject. There are none if the request is blocked.
    #[inline]
    pub fn check_now_with<'r>(
        &self,
        request: &'r Request<'_>,
        read: impl FnOnce(&[Hit<'r>]),
    ) -> Result<Option<Answer>, GateError<S::Error>> {
        self.check_now_by(self.policy.load(), request, read)
    }

    /// [`Gate::check_now_with`] by the policy in force, which has been loaded.
    #[inline]
    pub(crate) fn check_now_by<'r>(
        &self,
        policy: Guard<Arc<ActivePolicy>>,
        request: &'r Request<'_>,
        read: impl FnOnce(&[Hit<'r>]),
    ) -> Result<Option<Answer>, GateError<S::Error>> {
        let Some(memory) = self.store.as_memory() else { return Ok(None) };
        if let Some(hit) = policy.choose_plain(request)?
            && policy.set_of(&hit).decides(&hit, request)
        {
            return self.decide_hit_now(memory, policy, request, &hit, read);
        }
        let item = MatchedItem::request(&policy, request, policy.choose(request)?);
        let items = std::slice::from_ref(&item);
        let charges = Charges::enforced(&policy, items, self.batch_space, Permits::Open);
        let id = self.id(&policy, items, (&charges, Permits::Open));
        let call = charges.request(self.clock.now_ms(), id);
        let admission = if charges.charges.is_empty() {
            Admission::from(Verdict::new(call.charge.now_ms, Decisions::default()))
        } else if charges.is_refundable() {
            memory.reserve_now(&call)
        } else {
            memory.decide_now(&call.charge).into()
        };
        if admission.grants == Grants::TooManyOpen {
            self.settled.refuse_permit();
            return Err(GateError::too_many_permits(&admission.verdict));
        }
        self.report_verdict(&policy, items, &admission.verdict);
        let mut follow_up = FollowUp::default();
        if needs_follow_up(items, id, &admission.verdict) {
            let of = FollowUpOf { charges: &charges, permits: Permits::Open, id, key: None };
            follow_up = self.follow_up_now(memory, &policy, &item, of, &admission);
        }
        drop(charges);
        read(item.hits());
        Ok(Some(Answer::new(policy, items, admission.verdict, follow_up, self.store.nodes())))
    }

    /// Decides a request by its only hit: the same steps without lists of items and charges.
    #[inline(never)]
    fn decide_hit_now<'r>(
        &self,
        memory: &Memory,
        policy: Guard<Arc<ActivePolicy>>,
        request: &Request<'_>,
        hit: &Hit<'r>,
        read: impl FnOnce(&[Hit<'r>]),
    ) -> Result<Option<Answer>, GateError<S::Error>> {
        let (set, now_ms, cost) = (policy.set_of(hit), self.clock.now_ms(), request.requested_cost());
        let (verdict, permit) = if set.refund_scope == RefundScope::Nothing {
            (memory.decide_subject(&hit.key, &set.limits, (now_ms, cost), 0), None)
        } else {
            self.reserve_hit_now(memory, set, &hit.key, (now_ms, cost))?
        };
        self.report_hit(&policy, request, hit, &verdict);
        read(std::slice::from_ref(hit));
        Ok(Some(Answer::of_hit(policy, (hit, cost), verdict, permit, self.store.nodes())))
    }

    /// Verdict on the charge of one hit, and the permit to settle it.
    #[inline(never)]
    fn reserve_hit_now(
        &self,
        memory: &Memory,
        set: &ActiveSet,
        key: &Key<'_>,
        (now_ms, cost): (u64, u64),
    ) -> Result<(Verdict, Option<UnsignedPermit>), GateError<S::Error>> {
        let PreparedLimits { space, limits, .. } = &set.limits;
        let (holder, charge) = (self.next_id(), Charge { space: *space, key, limits, cost });
        let call = ChargeRequest { now_ms, holder, charges: std::slice::from_ref(&charge) };
        let request = ReserveRequest { charge: call, refunds: &[set.refund_scope] };
        let Admission { verdict, grants } = memory.reserve_now(&request);
        if grants == Grants::TooManyOpen {
            self.settled.refuse_permit();
            return Err(GateError::too_many_permits(&verdict));
        }
        let refundable = grants.of(0).map(|grant| {
            let (decisions, returns) = (&*verdict.decisions, set.refund_scope);
            Refundable { charge: &charge, decisions, returns, grant }
        });
        let permit = UnsignedPermit::new(holder, refundable);
        Ok((verdict, permit))
    }

    /// [`Gate::limit_in`] without a future and without an id. `None`, and nothing is decided,
    /// unless the state is in memory.
    #[inline]
    pub fn limit_now<'k>(
        &self,
        space: Space,
        key: impl Into<Key<'k>>,
        limit: &Limit,
        cost: u64,
    ) -> Option<Verdict> {
        let memory = self.store.as_memory()?;
        let key = key.into();
        let limits = std::slice::from_ref(limit);
        let charges = [Charge { space, key: &key, limits, cost }];
        let holder = if limit.needs_id() { self.next_id() } else { 0 };
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder, charges: &split_charges(&charges) };
        let verdict = memory.decide_now(&call);
        self.report_limit(&charges[0], None, Ok::<_, &S::Error>(&verdict));
        Some(verdict)
    }

    /// [`Gate::settle_now`] without a report; whether the permit was settled.
    #[cfg(feature = "tower")]
    pub(crate) fn close_now(&self, permit: &UnsignedPermit, cost: u64) -> bool {
        let Some(memory) = self.store.as_memory() else { return false };
        let settlement = permit.settlement(cost, self.clock.now_ms());
        let add = |outcomes: &[SettleOutcome]| {
            self.settled.add(SettleOutcome::of_all(outcomes), debt_units(&settlement, outcomes));
        };
        match memory.settle_in_place(&settlement) {
            Some(outcome) => add(&[outcome]),
            None => add(&memory.settle_now(&settlement)),
        }
        true
    }

    /// [`Gate::settle_unsigned`] without a future. `None`, and nothing is settled, unless the state
    /// is in memory.
    pub fn settle_now(&self, permit: &UnsignedPermit, cost: u64) -> Option<SettlementReport> {
        let memory = self.store.as_memory()?;
        let settlement = permit.settlement(cost, self.clock.now_ms());
        Some(self.report_settlement(&settlement, &memory.settle_now(&settlement)))
    }
}
