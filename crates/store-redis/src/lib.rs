//! Store in Redis or Valkey, shared by any number of nodes: scripts on the server make the same
//! decisions.
//!
//! All limits of a request are decided in one call, by the server's clock; concurrent requests
//! share calls. See [`Fallback`](slidegate_store::Fallback) for decisions while no server answers.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `lua` | the algorithms in Lua, in parts: a file per algorithm, `idempotency`, `open_permits`, `notes`, `lease` |
//! | `script`, `script_cache` | assembles a script from these parts for a set of limits, and caches it |
//! | `plan`, `keys`, `invocation`, `script_reply` | a request by slots; names of keys; the call; its reply |
//! | `cross_slot` | requests across slots of a Cluster, and requests under an idempotency key |
//! | `settle`, `give_back`, `notes`, `lease` | the other operations of a store |
//! | `deny_cache` | denials that this node repeats without a call |
//! | `link` | connections: `batching`, `breaker`, `cluster`, `sentinel`, `tls`, what may be sent again (`reply`), refused writes (`refusal`) |
//! | `config`, `error`, `error_counts` | settings; errors, and their counts |
//! | `check_encoder` | checks as commands byte for byte, for the benchmarks |
//!
//! Only `link` knows connections, and only `script` knows Lua.

#[doc(hidden)]
pub mod check_encoder;
mod config;
mod cross_slot;
mod deny_cache;
mod error;
mod error_counts;
mod give_back;
mod invocation;
mod keys;
mod lease;
mod link;
mod notes;
mod plan;
mod script;
mod script_cache;
mod script_reply;
mod settle;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use slidegate_core::{
    LeaseClose, LeaseReply, LeaseRequest, MAX_TIME_MS, Outcome, Prepayment, Source, Verdict,
};

pub use config::{ClientCertificate, RedisConfig, RedisConfigError};
pub use error::{RedisError, RedisErrorKind};
pub use link::{CircuitState, Warning, WriteRefusal};

use deny_cache::DenyCache;
use error::MAX_ITEMS;
use error_counts::ErrorCounts;
use invocation::Invocation;
use link::RedisLink;
use notes::NotesClient;
use plan::{Plan, SlotGroup};
use script::{ScriptClock, ScriptPurpose};
use script_cache::ScriptCache;
use script_reply::ScriptReply;
use slidegate_store::Space;
use slidegate_store::{
    Admission, ChargeRequest, ForgetRequest, IdempotentOutcome, LeaseStore, LeaseSubject, Memory, Note,
    Notes, PostOutcome, ReserveRequest, SettleOutcome, Settlement, Store, SyncStore,
};

/// Store in Redis or Valkey. Clones share everything.
#[derive(Clone, Debug)]
pub struct Redis(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    link: RedisLink,
    scripts: ScriptCache,
    deny_cache: DenyCache,
    errors: ErrorCounts,
    notes: NotesClient,
    /// Spaces with refunds, where a denial may end early.
    refundable: RwLock<HashSet<Space>>,
    prefix: Vec<u8>,
    timeout: Duration,
}

impl Redis {
    /// Store on these servers. Connects at the first request.
    pub fn new(config: &RedisConfig) -> Self {
        Self::by(ScriptClock::Server, config)
    }

    /// Store that decides by the time of each call instead of the server's, and lets no key expire:
    /// for tests.
    #[doc(hidden)]
    pub fn by_callers_clock(config: &RedisConfig) -> Self {
        Self::by(ScriptClock::Injected, config)
    }

    fn by(time: ScriptClock, config: &RedisConfig) -> Self {
        Self(Arc::new(Inner {
            link: RedisLink::new(config),
            scripts: ScriptCache::new(time),
            deny_cache: DenyCache::new(config.deny_cache_entries, config.deny_cache),
            errors: ErrorCounts::default(),
            notes: NotesClient::new(config.prefix.as_bytes(), time),
            refundable: RwLock::default(),
            prefix: config.prefix.clone().into_bytes(),
            timeout: config.timeout,
        }))
    }

    /// State of each server's circuit breaker.
    pub fn health(&self) -> Vec<(String, CircuitState)> {
        self.0.link.health()
    }

    /// Servers that answer and refuse to write, and therefore do not decide: out of memory,
    /// read-only. Also logged, and probed once a second until they write again.
    pub fn refusals(&self) -> Vec<(String, WriteRefusal)> {
        self.0.link.refusals()
    }

    /// Warnings about the setup of the servers so far; also logged.
    pub fn warnings(&self) -> Vec<Warning> {
        self.0.link.warnings()
    }

    /// Number of failed calls by kind, including those that a fallback answered.
    pub fn errors(&self) -> [(RedisErrorKind, u64); RedisErrorKind::ALL.len()] {
        self.0.errors.counts()
    }

    /// Number of requests that the deny cache denied without a call to a server.
    pub fn deny_cache_hits(&self) -> u64 {
        self.0.deny_cache.hits()
    }

    /// Clears the deny cache. Call it when limits change or a key was reset.
    pub fn clear_deny_cache(&self) {
        self.0.deny_cache.clear();
    }

    /// [`Store::reserve`] without counting errors.
    async fn decide_on_server(&self, request: &ReserveRequest<'_>) -> Result<Admission, RedisError> {
        let (plan, call) = (self.0.plan(request)?, &request.charge);
        if let Some(verdict) = self.0.cached_denial(&plan) {
            return Ok(verdict.into());
        }
        let sent = Instant::now();
        let rows = match plan.groups.as_slice() {
            [group] if group.permits.is_empty() => Some(vec![self.0.decide_group(&plan, group).await?]),
            [group] => self.0.reserve_group(&plan, group).await?.map(|row| vec![row]),
            _ => {
                self.expect_undo(call);
                self.decide_cross_slot(&plan).await?
            }
        };
        let Some(rows) = rows else { return Ok(plan.too_many_open()) };
        self.0.cache_denials(call, &plan, &rows, sent);
        Ok(plan.admission(&rows))
    }
}

impl Inner {
    fn plan(&self, request: &ReserveRequest<'_>) -> Result<Plan, RedisError> {
        let plan = Plan::new(&self.prefix, request, self.link.slots());
        match plan.items().count() {
            0..=MAX_ITEMS => Ok(plan),
            more => Err(RedisError::TooManyLimits(more)),
        }
    }

    fn deadline(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + self.timeout
    }

    /// Invocation that decides a group. `own` are the arguments of the purpose.
    fn invoke(
        &self,
        purpose: ScriptPurpose,
        plan: &Plan,
        group: &SlotGroup,
        own: Vec<Vec<u8>>,
    ) -> Invocation {
        let limits = group.limits();
        let cached = self.scripts.choose(purpose, &limits);
        let mut head = own;
        self.push_time(&mut head, plan.now_ms);
        head.extend(cached.numbers);
        let values = group.items.iter().filter(|_| purpose != ScriptPurpose::Check);
        let mut arguments: Vec<Vec<u8>> = values.map(|item| text(item.cost)).collect();
        if !purpose.is_for_several() || limits.iter().any(|limit| limit.needs_id()) {
            arguments.push(plan.holder.to_vec());
        }
        let mut keys: Vec<Vec<u8>> = group.items.iter().map(|item| item.key.clone()).collect();
        if purpose.opens_permits() && !group.permits.is_empty() {
            self.link.expect_permits();
            keys.extend(group.permits.iter().map(|permit| permit.key.clone()));
            arguments.extend(group.permits.iter().map(|permit| permit.covers.clone()));
        }
        Invocation { script: cached.script, slot: group.owner.slot, head, keys, arguments }
    }

    /// Adds the time for a script that does not read the server's clock.
    fn push_time(&self, head: &mut Vec<Vec<u8>>, now_ms: u64) {
        if self.scripts.time == ScriptClock::Injected {
            head.push(text(now_ms.min(MAX_TIME_MS)));
        }
    }

    async fn decide_group(&self, plan: &Plan, group: &SlotGroup) -> Result<ScriptReply, RedisError> {
        let costs_one = group.items.iter().all(|item| item.cost == 1);
        let purpose = if costs_one { ScriptPurpose::Check } else { ScriptPurpose::Decide };
        let invocation = self.invoke(purpose, plan, group, Vec::new());
        let reply = self.link.call(invocation, self.deadline()).await?;
        read(&reply, group)
    }

    /// Decides a request and opens its permits; `None`, and nothing is charged, if a subject has
    /// too many.
    async fn reserve_group(&self, plan: &Plan, group: &SlotGroup) -> Result<Option<ScriptReply>, RedisError> {
        let invocation = self.invoke(ScriptPurpose::Reserve, plan, group, Vec::new());
        let reply = self.link.call(invocation, self.deadline()).await?;
        if reply == TOO_MANY_OPEN { Ok(None) } else { read(&reply, group).map(Some) }
    }

    /// Cached denial. A cost that can never fit is not cached.
    fn cached_denial(&self, plan: &Plan) -> Option<Verdict> {
        if plan.items().any(|item| item.cost > item.limit.ceiling()) {
            return None;
        }
        let now = Instant::now();
        let mut rows = plan.unknown();
        for (item, decision) in plan.items().zip(rows.iter_mut().flat_map(|row| &mut row.decisions)) {
            if let Some(wait_ms) = self.deny_cache.wait_ms(item, now) {
                decision.outcome = Outcome::RetryAfter(wait_ms);
            }
        }
        let verdict = plan.verdict(&rows);
        if verdict.is_allowed() {
            return None;
        }
        self.deny_cache.count_hit();
        Some(Verdict { source: Source::Cache, ..verdict })
    }

    fn cache_denials(&self, call: &ChargeRequest<'_>, plan: &Plan, rows: &[ScriptReply], sent: Instant) {
        let refundable = self.refundable.read().unwrap_or_else(PoisonError::into_inner);
        for (item, decision) in plan.items().zip(rows.iter().flat_map(|row| &row.decisions)) {
            if let Outcome::RetryAfter(wait_ms) = decision.outcome
                && !refundable.contains(&call.charges[item.charge].space)
            {
                self.deny_cache.insert(item, wait_ms, sent);
            }
        }
    }
}

impl SyncStore for Redis {
    #[inline]
    fn as_memory(&self) -> Option<&Memory> {
        None
    }
}

impl Store for Redis {
    type Error = RedisError;

    const HAS_DENY_CACHE: bool = true;

    fn expect_refunds(&self, space: Space) {
        if !self.0.refundable.read().unwrap_or_else(PoisonError::into_inner).contains(&space) {
            self.0.refundable.write().unwrap_or_else(PoisonError::into_inner).insert(space);
        }
    }

    fn clear_deny_cache(&self) {
        self.0.deny_cache.clear();
    }

    async fn decide(&self, call: &ChargeRequest<'_>) -> Result<Verdict, RedisError> {
        let admission = self.decide_on_server(&ReserveRequest::without_refunds(*call)).await;
        self.0.errors.counted(admission.map(|admission| admission.verdict))
    }

    async fn reserve(&self, request: &ReserveRequest<'_>) -> Result<Admission, RedisError> {
        self.0.errors.counted(self.decide_on_server(request).await)
    }

    async fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> Result<IdempotentOutcome, RedisError> {
        self.0.errors.counted(self.charge_idempotent(request, idempotency_key).await)
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Vec<SettleOutcome>, RedisError> {
        self.0.errors.counted(self.0.settle(settlement).await)
    }

    async fn give_back(&self, call: &ChargeRequest<'_>) -> Result<Verdict, RedisError> {
        self.0.errors.counted(self.0.give_back(call).await)
    }

    async fn forget(&self, subject: &ForgetRequest<'_>) -> Result<(), RedisError> {
        self.0.errors.counted(self.0.forget_subject(subject).await)
    }

    async fn post(&self, note: &Note, now_ms: u64) -> Result<PostOutcome, RedisError> {
        self.0.errors.counted(self.0.post(note, now_ms).await)
    }

    async fn withdraw(&self, id: &str) -> Result<bool, RedisError> {
        self.0.errors.counted(self.0.withdraw_note(id).await)
    }

    async fn notes(&self) -> Result<Notes, RedisError> {
        self.0.errors.counted(self.0.notes().await)
    }
}

impl LeaseStore for Redis {
    async fn lease(
        &self,
        subject: &LeaseSubject<'_>,
        request: &LeaseRequest,
        now_ms: u64,
    ) -> Result<LeaseReply, RedisError> {
        // A lease that is closed or shrinks ends a denial early.
        self.expect_refunds(subject.space());
        self.0.errors.counted(self.0.lease(subject, request, now_ms).await)
    }

    async fn close_lease(
        &self,
        subject: &LeaseSubject<'_>,
        close: &LeaseClose,
        now_ms: u64,
    ) -> Result<bool, RedisError> {
        self.0.errors.counted(self.0.close_lease(subject, close, now_ms).await)
    }

    async fn decide_prepaid(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> Result<Verdict, RedisError> {
        self.0.errors.counted(self.decide_prepaid_on_server(call, prepayments).await)
    }
}

/// Reply of a script if a subject has the maximum number of open permits.
const TOO_MANY_OPEN: &[u8] = b"full";

fn read(reply: &[u8], group: &SlotGroup) -> Result<ScriptReply, RedisError> {
    let unreadable = || RedisError::Protocol(format!("{} bytes, expected a decision", reply.len()));
    ScriptReply::read(reply, &group.costs()).ok_or_else(unreadable)
}

/// Number as an argument.
fn text(number: u64) -> Vec<u8> {
    number.to_string().into_bytes()
}
