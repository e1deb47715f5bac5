//! Gate: the rules of a policy over a store.

mod active_policy;
mod answer;
mod charges;
mod follow_up;
mod in_flight;
mod inspect;
mod item;
mod overlay;
mod pipeline;
mod report;
mod request;
mod settlement;
mod sync;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use slidegate_core::{Limit, Source, Verdict};
use smallvec::SmallVec;

pub use active_policy::ActivePolicy;
pub use answer::{Answer, ItemAnswer, LimitAnswer};
pub use inspect::{Inspection, LimitUsage, ResetSubject};
pub use item::BatchItem;
pub use request::{CheckRequest, GateError};
pub use settlement::{SettlementPart, SettlementReport, Settlements};

use crate::async_limiter::CallError;
use crate::clock::{Clock, SystemClock};
use crate::permit::{Permit, Signer, UnsignedPermit};
use crate::telemetry::Telemetry;
use crate::wait_queue::{MAX_WAITING, WaitQueue};
use in_flight::split_charges;
use item::MatchedItem;
use pipeline::{BATCH, DecisionOptions};
use slidegate_policy::Policy;
use slidegate_store::fallback::share;
use slidegate_store::random;
use slidegate_store::{Charge, ChargeRequest, Key, SettleOutcome, Settlement, Space, Store};
#[cfg(feature = "tower")]
pub(crate) use wait::WaitFlag;
use wait::WaitSubject;

/// Space of ad hoc limits of single requests. No rule can have this name.
const AD_HOC_SPACE: &str = "/v1/limit";
/// Space of ad hoc limits of batches. No rule can have this name.
const BATCH_SPACE: &str = "/item";

/// Gate: decides requests by the rules of a [`Policy`], over any [`Store`].
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use slidegate::policy::Policy;
/// use slidegate::{CheckRequest, Gate, Memory, Request};
///
/// let policy = Policy::parse("policy.yaml", "
/// version: 1
/// rules:
///   - { name: login, match: { path: /login }, key: [ip], limits: [5/min] }
/// ")?;
/// let gate = Gate::new(policy, Memory::default());
/// let request = Request::new().with("path", "/login").with("ip", "203.0.113.7");
/// let answer = gate.check(&CheckRequest::from(request)).await?;
/// assert!(answer.is_allowed());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Gate<S, C = SystemClock> {
    policy: ArcSwap<ActivePolicy>,
    store: S,
    clock: C,
    signer: Signer,
    ids: AtomicU64,
    settled: settlement::SettlementCounters,
    /// Requests refused because there was no room for their idempotency keys.
    full: AtomicU64,
    queue: WaitQueue<WaitSubject>,
    ad_hoc: Space,
    batch_space: Space,
    telemetry: Option<Arc<Telemetry>>,
}

impl<S: Store> Gate<S> {
    /// Gate with these rules and the system clock. Permits are signed with a random secret and end
    /// with the process; see [`Gate::permit_secret`].
    pub fn new(policy: Policy, store: S) -> Self {
        announce(&policy, &store);
        Self {
            policy: ArcSwap::from_pointee(ActivePolicy::new(policy, Box::default())),
            store,
            clock: SystemClock::new(),
            signer: Signer::new(&random()),
            ids: AtomicU64::new(u64::from_le_bytes(random())),
            settled: settlement::SettlementCounters::default(),
            full: AtomicU64::new(0),
            queue: WaitQueue::bounded(MAX_WAITING),
            ad_hoc: Space::named(AD_HOC_SPACE),
            batch_space: Space::named(BATCH_SPACE),
            telemetry: None,
        }
    }
}

impl<S, C> Gate<S, C> {
    /// The same gate with another clock.
    pub fn clock<D: Clock>(self, clock: D) -> Gate<S, D> {
        let Self { policy, store, signer, ids, settled, full, queue, ad_hoc, batch_space, telemetry, .. } =
            self;
        Gate { policy, store, clock, signer, ids, settled, full, queue, ad_hoc, batch_space, telemetry }
    }

    /// Secret that signs permits, shared by the nodes that accept each other's permits.
    pub fn permit_secret(self, secret: [u8; 32]) -> Self {
        Self { signer: Signer::new(&secret), ..self }
    }

    /// Maximum of requests that wait at the same time, 10,000 by default. A subject has at most a
    /// sixteenth of that, and less where a request has several, so that each of them leaves room
    /// for others. Further requests are decided immediately.
    pub fn max_waiting(self, requests: usize) -> Self {
        Self { queue: WaitQueue::bounded(requests), ..self }
    }

    /// Telemetry that records every decision.
    pub fn observe(self, telemetry: Arc<Telemetry>) -> Self {
        let policy = Policy::clone(&self.policy.load());
        self.policy.store(Arc::new(telemetry.attach(policy)));
        Self { telemetry: Some(telemetry), ..self }
    }

    /// Telemetry, if there is one.
    #[inline]
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.telemetry.as_ref()
    }

    /// Policy in force.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        self.policy.load_full()
    }

    /// Policy in force, without a reference count; for short use.
    #[cfg(feature = "tower")]
    pub(crate) fn policy_guard(&self) -> arc_swap::Guard<Arc<ActivePolicy>> {
        self.policy.load()
    }

    /// Store with the state.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Counts of refunds and settlements by outcome.
    pub fn settlements(&self) -> Settlements {
        self.settled.counts()
    }

    /// Number of requests refused because there was no room for their idempotency keys.
    pub fn refused_idempotency_keys(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    /// Space of [`Gate::limit`].
    #[inline]
    pub fn ad_hoc(&self) -> Space {
        self.ad_hoc
    }

    /// Signed permit of an answer, which may leave the process.
    pub fn permit(&self, answer: &Answer) -> Option<Permit> {
        answer.unsigned_permit().map(|permit| self.signer.sign(permit))
    }

    fn report_settlement(&self, settlement: &Settlement<'_>, outcomes: &[SettleOutcome]) -> SettlementReport {
        let report = SettlementReport::new(&self.policy.load(), settlement, outcomes);
        self.settled.add(report.outcome, settlement::debt_units(settlement, outcomes));
        report
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Replaces the policy, atomically. State stays: it belongs to rules and limits by name.
    pub fn replace(&self, policy: Policy) {
        announce(&policy, &self.store);
        let policy = match &self.telemetry {
            Some(telemetry) => telemetry.attach(policy),
            None => ActivePolicy::new(policy, Box::default()),
        };
        self.policy.store(Arc::new(policy));
        // Afterwards: denials of the old rules must not be repeated under the new ones.
        self.store.clear_deny_cache();
    }

    /// Time of its clock, as Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Decides a request by every rule that applies to it: all of them admit it, or none is
    /// charged.
    pub async fn check(&self, request: &CheckRequest<'_>) -> Result<Answer, GateError<S::Error>> {
        let policy = self.policy();
        let item = MatchedItem::request(&policy, &request.request, policy.choose(&request.request)?);
        self.decide_items(policy, std::slice::from_ref(&item), DecisionOptions::of(request)).await
    }

    /// [`Gate::check`] of a caller that may leave while the flag is set.
    #[cfg(feature = "tower")]
    pub(crate) async fn check_with_flag(
        &self,
        request: &CheckRequest<'_>,
        flag: &WaitFlag,
    ) -> Result<Answer, GateError<S::Error>> {
        let policy = self.policy();
        let item = MatchedItem::request(&policy, &request.request, policy.choose(&request.request)?);
        let options = DecisionOptions { wait_flag: Some(flag), ..DecisionOptions::of(request) };
        self.decide_items(policy, std::slice::from_ref(&item), options).await
    }

    /// Decides a request by the rule of this name, whatever it matches; `None` if there is no such
    /// rule.
    pub async fn check_rule(
        &self,
        rule: &str,
        request: &CheckRequest<'_>,
    ) -> Result<Option<Answer>, GateError<S::Error>> {
        let policy = self.policy();
        let Some(choice) = policy.choose_rule(rule, &request.request)? else { return Ok(None) };
        let item = MatchedItem::request(&policy, &request.request, choice);
        self.decide_items(policy, std::slice::from_ref(&item), DecisionOptions::of(request)).await.map(Some)
    }

    /// Decides several requests together: all are admitted, or none is charged. Costs to the same
    /// subject add up. Units are given back, and rules in observe mode decided, only if all were
    /// admitted. The answer has no permit.
    pub async fn check_all(&self, items: &[BatchItem<'_>]) -> Result<Answer, GateError<S::Error>> {
        let policy = self.policy();
        let mut matched: SmallVec<[MatchedItem<'_>; 1]> = SmallVec::with_capacity(items.len());
        for item in items {
            matched.push(MatchedItem::batch(&policy, item)?);
        }
        self.decide_items(policy, &matched, BATCH).await
    }

    /// Decides by an ad hoc limit. Its keys share nothing with those of rules.
    pub async fn limit(&self, key: impl Into<Key<'_>>, limit: Limit, cost: u64) -> Result<Verdict, S::Error> {
        self.limit_in(self.ad_hoc, key, limit, cost, None).await
    }

    /// [`Gate::limit`] in another space, whose keys share nothing with those of others. The id is
    /// for telemetry.
    pub async fn limit_in(
        &self,
        space: Space,
        key: impl Into<Key<'_>>,
        limit: Limit,
        cost: u64,
        id: Option<&str>,
    ) -> Result<Verdict, S::Error> {
        let (key, limits) = (key.into(), [limit]);
        let charges = [Charge { space, key: &key, limits: &limits, cost }];
        let holder = if limit.needs_id() { self.next_id() } else { 0 };
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder, charges: &split_charges(&charges) };
        let verdict = self.store.decide(&call).await;
        self.report_limit(&charges[0], id, verdict.as_ref());
        verdict
    }

    /// The limit that decided in place of this one: this node's share of it while the store is
    /// unavailable.
    pub fn decisive(&self, limit: &Limit, source: Source) -> Limit {
        if source == Source::Local { share(limit, self.store.nodes()) } else { *limit }
    }

    /// Replaces a charge by the actual cost, and releases slots in flight.
    pub async fn settle(&self, permit: &Permit, cost: u64) -> Result<SettlementReport, CallError<S::Error>> {
        let settlement = self.signer.open(permit, cost, self.clock.now_ms())?;
        self.settle_all(&settlement).await.map_err(CallError::Store)
    }

    /// [`Gate::settle`] with a permit that never left the process.
    pub async fn settle_unsigned(
        &self,
        permit: &UnsignedPermit,
        cost: u64,
    ) -> Result<SettlementReport, S::Error> {
        self.settle_all(&permit.settlement(cost, self.clock.now_ms())).await
    }

    async fn settle_all(&self, settlement: &Settlement<'_>) -> Result<SettlementReport, S::Error> {
        let outcomes = self.store.settle(settlement).await?;
        Ok(self.report_settlement(settlement, &outcomes))
    }

    /// Gives a charge back, and releases slots in flight.
    pub async fn refund(&self, permit: &Permit) -> Result<SettlementReport, CallError<S::Error>> {
        self.settle(permit, 0).await
    }
}

/// Announces to the store which spaces have refunds, and the answers while it is unavailable.
fn announce(policy: &Policy, store: &impl Store) {
    for rule in policy.rules() {
        store.on_store_error(rule.space(), rule.on_store_error());
        if rule.refundable() {
            store.expect_refunds(rule.space());
        }
    }
}
