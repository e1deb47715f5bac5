//! A policy over a store: what a middleware or a service asks.

mod active_policy;
mod answer;
mod batch;
mod charges;
mod dry_run;
mod in_flight;
mod inspect;
mod report;
mod request;
mod settlement;
mod shared_history;
mod sync;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use slidegate_core::{Decisions, Limit, Source, Verdict};

pub use active_policy::ActivePolicy;
pub use answer::{Answer, LimitAnswer};
pub use batch::{BatchAnswer, BatchItem, ItemAnswer};
pub use inspect::{Inspection, LimitUsage, ResetSubject};
pub use request::{CheckRequest, GateError};
pub use settlement::{SettlementPart, SettlementReport, Settlements};
pub use sync::SyncAnswer;

use crate::async_limiter::CallError;
use crate::clock::{Clock, SystemClock};
use crate::permit::{Permit, Signer};
use crate::telemetry::Telemetry;
use crate::wait_queue::WaitQueue;
use answer::Applied;
use charges::{Charges, returns};
use in_flight::split_charges;
use slidegate_policy::{Choice, Hit, HitMode, Policy};
use slidegate_store::fallback::share;
use slidegate_store::random;
use slidegate_store::{
    Admission, Charge, ChargeRequest, Grants, IdempotentOutcome, RefundScope, ReserveRequest, Store,
};
use slidegate_store::{Key, Space};
use wait::QueueKey;

/// The most requests that wait for their turn at a time, where nothing else is said.
const MAX_WAITING: usize = 10_000;
/// The space of limits that come with the request. No rule can have this name.
const AD_HOC_SPACE: &str = "/v1/limit";
/// The space of limits that come with one of several requests. No rule can have this name.
const BATCH_SPACE: &str = "/item";

/// Decides requests by the rules of a [`Policy`], over any [`Store`].
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use slidegate::policy::Policy;
/// use slidegate::{CheckRequest, Gate, Memory, Request};
///
/// let (policy, _) = Policy::parse("policy.yaml", "
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
    /// Requests that were refused because their idempotency keys could not be remembered.
    full: AtomicU64,
    queue: WaitQueue<QueueKey>,
    ad_hoc: Space,
    batch_space: Space,
    telemetry: Option<Arc<Telemetry>>,
}

impl<S: Store> Gate<S> {
    /// A gate with these rules, by the system's clock. Permits are signed by a random secret and end with the process;
    /// see [`Gate::permit_secret`].
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
    /// Another clock.
    pub fn clock<D: Clock>(self, clock: D) -> Gate<S, D> {
        let Self { policy, store, signer, ids, settled, full, queue, ad_hoc, batch_space, telemetry, .. } =
            self;
        Gate { policy, store, clock, signer, ids, settled, full, queue, ad_hoc, batch_space, telemetry }
    }

    /// The secret that signs permits, which nodes share that take each other's.
    pub fn permit_secret(self, secret: [u8; 32]) -> Self {
        Self { signer: Signer::new(&secret), ..self }
    }

    /// The most requests that are held for their turn at a time; further ones are answered at once.
    pub fn max_waiting(self, requests: usize) -> Self {
        Self { queue: WaitQueue::bounded(requests), ..self }
    }

    /// Tells an observer of everything that is decided.
    pub fn observe(self, telemetry: Arc<Telemetry>) -> Self {
        let policy = Policy::clone(&self.policy.load());
        self.policy.store(Arc::new(telemetry.attach(policy)));
        Self { telemetry: Some(telemetry), ..self }
    }

    /// Who is told of everything that is decided.
    #[inline]
    pub fn telemetry(&self) -> Option<&Arc<Telemetry>> {
        self.telemetry.as_ref()
    }

    /// The rules as they are now.
    pub fn policy(&self) -> Arc<ActivePolicy> {
        self.policy.load_full()
    }

    /// Where it keeps its state.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// What came of the permits that were given back or settled here.
    pub fn settlements(&self) -> Settlements {
        self.settled.counts()
    }

    /// Requests that were refused because there was no room to remember their idempotency keys.
    pub fn refused_idempotency_keys(&self) -> u64 {
        self.full.load(Ordering::Relaxed)
    }

    /// The space of [`Gate::limit`].
    #[inline]
    pub fn ad_hoc(&self) -> Space {
        self.ad_hoc
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Puts other rules in the place of these, at once. History is kept: it belongs to rules and limits by name.
    pub fn replace(&self, policy: Policy) {
        announce(&policy, &self.store);
        let policy = match &self.telemetry {
            Some(telemetry) => telemetry.attach(policy),
            None => ActivePolicy::new(policy, Box::default()),
        };
        self.policy.store(Arc::new(policy));
        // After that: what old rules refused must not be repeated under the new ones.
        self.store.clear_deny_cache();
    }

    /// What time it is by its clock, as Unix milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Decides a request by every rule that applies to it: all of them admit it, or none is charged.
    pub async fn check(&self, request: &CheckRequest<'_>) -> Result<Answer, GateError<S::Error>> {
        let policy = self.policy();
        let choice = policy.choose(&request.request)?;
        self.answer(&policy, &choice, request).await
    }

    /// Decides a request by the rule of this name, whatever it matches; `None` if there is no such rule.
    pub async fn check_rule(
        &self,
        rule: &str,
        request: &CheckRequest<'_>,
    ) -> Result<Option<Answer>, GateError<S::Error>> {
        let policy = self.policy();
        match &policy.choose_rule(rule, &request.request)? {
            Some(choice) => self.answer(&policy, choice, request).await.map(Some),
            None => Ok(None),
        }
    }

    /// Decides by a limit that comes with the request. Such keys share nothing with those of rules.
    pub async fn limit(&self, key: impl Into<Key<'_>>, limit: Limit, cost: u64) -> Result<Verdict, S::Error> {
        self.limit_in(self.ad_hoc, key, limit, cost, None).await
    }

    /// [`Gate::limit`] in another space, whose keys share nothing with those of others. The id is what the sender knows the request by.
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

    /// The limit that decided where this one was asked: this node's share of it while the store did not answer.
    pub fn decisive(&self, limit: &Limit, source: Source) -> Limit {
        if source == Source::Local { share(limit, self.store.nodes()) } else { *limit }
    }

    /// Replaces what was charged by what it really cost, and releases what is held in flight.
    pub async fn settle(&self, permit: &Permit, cost: u64) -> Result<SettlementReport, CallError<S::Error>> {
        let settlement = self.signer.open(permit, cost, self.clock.now_ms())?;
        let outcomes = self.store.settle(&settlement).await.map_err(CallError::Store)?;
        let report = SettlementReport::new(&self.policy.load(), &settlement, &outcomes);
        self.settled.add(report.outcome, settlement::debt_units(&settlement, &outcomes));
        Ok(report)
    }

    /// Gives back what was charged, and releases what is held in flight.
    pub async fn refund(&self, permit: &Permit) -> Result<SettlementReport, CallError<S::Error>> {
        self.settle(permit, 0).await
    }

    async fn answer(
        &self,
        policy: &Arc<ActivePolicy>,
        choice: &Choice<'_>,
        request: &CheckRequest<'_>,
    ) -> Result<Answer, GateError<S::Error>> {
        let hits = match choice {
            Choice::Blocked { rule, reason: why } => {
                let now_ms = self.clock.now_ms();
                self.report_blocked(policy, &request.request, (*rule, *why), now_ms);
                return Ok(Answer::blocked_by(policy.clone(), (*rule, *why), now_ms));
            }
            Choice::Hits(hits) => hits,
        };
        let enforced = Charges::of(policy, hits, HitMode::Enforce, request.request.requested_cost());
        let id = self.id(policy, hits);
        let decided = self.decide(&enforced, id, request).await;
        self.report(policy, &request.request, hits, decided.as_ref());
        let (admission, id, mut replayed) = match decided? {
            IdempotentOutcome::Decided(admission) => (admission, id, false),
            // Both get the same permit.
            IdempotentOutcome::Replayed { admission, holder } => (admission, id.map(|_| holder), true),
            IdempotentOutcome::Conflict => return Err(GateError::Conflict),
            IdempotentOutcome::Full => {
                self.full.fetch_add(1, Ordering::Relaxed);
                return Err(GateError::Full);
            }
        };
        let (mut observed, mut permit) = (Vec::new(), None);
        if admission.verdict.is_allowed() && (id.is_some() || enforced.applied.len() < hits.len()) {
            // In a box, as all that few requests come to: the others would carry the room for it.
            let dry_run_hits = if replayed { &[] } else { &**hits };
            // Where no rule is enforced, those that only look on remember by themselves that they were charged.
            let key = request.idempotency_key.as_deref().filter(|_| enforced.charges.is_empty());
            let completed =
                Box::pin(self.complete(policy, (&enforced, &admission), dry_run_hits, (id, key))).await;
            replayed |= completed.replayed;
            (observed, permit) = (completed.observed, completed.permit);
            if !completed.replayed {
                self.report_dry_run(
                    policy,
                    &request.request,
                    dry_run_hits,
                    (&observed, admission.verdict.decided_at_ms),
                );
            }
        }
        let (policy, applied, verdict) = (policy.clone(), enforced.applied, admission.verdict);
        let nodes = self.store.nodes();
        Ok(Answer { policy, verdict, applied, observed, barred: None, permit, replayed, nodes })
    }

    /// Asks the store about the rules that are enforced.
    async fn decide(
        &self,
        enforced: &Charges<'_>,
        id: Option<u64>,
        request: &CheckRequest<'_>,
    ) -> Result<IdempotentOutcome, GateError<S::Error>> {
        let once = if enforced.charges.is_empty() {
            IdempotentOutcome::Decided(Verdict::new(self.clock.now_ms(), Decisions::default()).into())
        } else if request.wait.is_zero() {
            self.decide_immediately(enforced, id, request).await?
        } else {
            Box::pin(self.decide_waiting(enforced, id, request)).await?
        };
        if let IdempotentOutcome::Decided(Admission { grants: Grants::TooManyOpen, .. }) = once {
            self.settled.refuse_permit();
            return Err(GateError::TooManyPermits);
        }
        Ok(once)
    }

    /// One attempt.
    async fn decide_immediately(
        &self,
        enforced: &Charges<'_>,
        id: Option<u64>,
        request: &CheckRequest<'_>,
    ) -> Result<IdempotentOutcome, GateError<S::Error>> {
        let call = ChargeRequest {
            now_ms: self.clock.now_ms(),
            holder: id.unwrap_or(0),
            charges: &enforced.charges,
        };
        let reserve = ReserveRequest { charge: call, refunds: &enforced.returns };
        let answer = match &request.idempotency_key {
            Some(key) => self.store.decide_idempotent(&reserve, key.as_bytes()).await,
            None if id.is_some() => self.store.reserve(&reserve).await.map(IdempotentOutcome::Decided),
            None => self.store.decide(&call).await.map(|verdict| IdempotentOutcome::Decided(verdict.into())),
        };
        answer.map_err(GateError::Store)
    }

    /// An id for the request, where it is held in flight or may be given back.
    fn id(&self, policy: &Policy, hits: &[Hit<'_>]) -> Option<u64> {
        let returns = hits.iter().any(|hit| returns(policy, Applied::from(hit)) != RefundScope::Nothing);
        returns.then(|| self.next_id())
    }
}

/// Tells the store where charges may be given back, and what is answered while it does not answer.
fn announce(policy: &Policy, store: &impl Store) {
    for rule in policy.rules() {
        store.on_store_error(rule.space(), rule.on_store_error());
        if rule.refundable() {
            store.expect_refunds(rule.space());
        }
    }
}
