//! Stores: the state of limits, and atomic decisions on it.
//!
//! A [`Store`] knows subjects, limits and costs. It knows nothing of rules, policies or protocols.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | (this file) | [`Store`] and its arguments and answers: [`ChargeRequest`], [`Charge`], [`Settlement`], [`Admission`] |
//! | `key`, `fingerprint` | [`Key`] and [`Space`] of a subject, and the keyed 128-bit hash that represents it |
//! | `memory` | the in-memory store |
//! | ├ `table`, `shard`, `slot`, `row`, `cell`, `counter_pair`, `layout`, `subject`, `interner` | where a subject is, and how its state is packed |
//! | ├ `fast_path`, `multi_subject`, `permits`, `give_back` | decisions and settlements |
//! | ├ `eviction`, `budget`, `bytes`, `fullness`, `max_size` | the memory bound |
//! | └ `snapshot`, `snapshot_reader`, `codec` | the state in a file |
//! | `idempotency` | answers under idempotency keys, of this process |
//! | `fallback` | what decides while a store does not answer |
//! | `notes` | short texts that all processes with a store share |
//! | `sync` | the lock of a shard, which tests replace to explore schedules |

use std::future::Future;
use std::sync::Arc;

use slidegate_core::{Grant, Limit, LimitId, LimitKind, Receipt, Verdict};

pub mod fallback;
pub mod fingerprint;
pub mod idempotency;
mod key;
pub mod memory;
pub mod notes;
mod random;
pub mod sync;

pub use fallback::{Fallback, OnStoreError};
pub use idempotency::MAX_IDEMPOTENCY_ENTRIES;
pub use key::{Key, KeyEncoding, KeySegment, Space};
pub use memory::Memory;
pub use notes::{MAX_NOTE_BYTES, MAX_NOTE_ID_BYTES, MAX_NOTES, Note, Notes, PostOutcome};
pub use random::random;

/// The most limits that one request may touch.
pub const MAX_LIMITS: usize = 32;

/// Keeps what limits remember of keys, and decides atomically.
pub trait Store: Send + Sync {
    /// What can go wrong besides a refusal, which is an answer and not an error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Whether it may repeat a denial without looking. Then a space whose charges may be given back has to be known before.
    const HAS_DENY_CACHE: bool = false;

    /// Told of a space in which charges may be given back: by permits, or because a request on several subjects is denied by
    /// another of them.
    fn expect_refunds(&self, _space: Space) {}

    /// Told what is answered for a space while the store does not answer. Only [`Fallback`] has a use for it.
    fn on_store_error(&self, _space: Space, _answer: OnStoreError) {}

    /// Drops what it remembers of denials: to be called when limits change, and when the version of the [`Notes`] moved.
    fn clear_deny_cache(&self) {}

    /// How many nodes divide each quota among them while the store does not answer: what [`Source::Local`](slidegate_core::Source::Local) decides by.
    fn nodes(&self) -> u64 {
        1
    }

    /// Decides a request: charges everything, or nothing.
    fn decide(&self, call: &ChargeRequest<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;

    /// Decides a request like [`Store::decide`], and opens permits for what it is charged.
    fn reserve(
        &self,
        request: &ReserveRequest<'_>,
    ) -> impl Future<Output = Result<Admission, Self::Error>> + Send;

    /// Decides a request that its sender may send again, under a key that a trusted sender chose. It is charged once: the
    /// same charges under the same key get the answer that admitted them again, however often, for the shortest of
    /// their windows or a minute. Quotas may change meanwhile. Denials are not remembered.
    fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> impl Future<Output = Result<IdempotentOutcome, Self::Error>> + Send;

    /// Replaces the costs that an admitted request recorded, once. Gives an outcome for every subject of the settlement, in
    /// their order: each is settled by itself.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Vec<SettleOutcome>, Self::Error>> + Send;

    /// Gives units back without a permit, the oldest first and never below nothing; [`Charge::cost`] says how many. Answers what
    /// is then left, as a look (cost 0) would. Places in flight stay taken. Each subject by itself is atomic, several are not.
    /// Only for spaces that [`Store::expect_refunds`] was told of: elsewhere a denial may be repeated that no longer holds.
    fn give_back(
        &self,
        call: &ChargeRequest<'_>,
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;

    /// Forgets a subject under these limits: it is as if never seen, and permits from before are void. What was answered under
    /// idempotency keys stays, so that a request that is sent again is still not charged twice.
    fn forget(&self, subject: &ForgetRequest<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Puts a note on the board, which every process with this store reads. One with the same id is replaced, and what has
    /// expired is cleared away: by the store's clock, or by `now_ms` where it has none.
    fn post(&self, note: &Note, now_ms: u64)
    -> impl Future<Output = Result<PostOutcome, Self::Error>> + Send;

    /// Takes a note off the board; whether it was there.
    fn withdraw(&self, id: &str) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// What the board says now.
    fn notes(&self) -> impl Future<Output = Result<Notes, Self::Error>> + Send;
}

/// Limiters of different names may share a store; see `Builder::store`.
impl<S: Store> Store for Arc<S> {
    type Error = S::Error;

    const HAS_DENY_CACHE: bool = S::HAS_DENY_CACHE;

    fn expect_refunds(&self, space: Space) {
        S::expect_refunds(self, space);
    }

    fn on_store_error(&self, space: Space, answer: OnStoreError) {
        S::on_store_error(self, space, answer);
    }

    fn clear_deny_cache(&self) {
        S::clear_deny_cache(self);
    }

    fn nodes(&self) -> u64 {
        S::nodes(self)
    }

    fn decide(&self, call: &ChargeRequest<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::decide(self, call)
    }

    fn reserve(
        &self,
        request: &ReserveRequest<'_>,
    ) -> impl Future<Output = Result<Admission, Self::Error>> + Send {
        S::reserve(self, request)
    }

    fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> impl Future<Output = Result<IdempotentOutcome, Self::Error>> + Send {
        S::decide_idempotent(self, request, idempotency_key)
    }

    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Vec<SettleOutcome>, Self::Error>> + Send {
        S::settle(self, settlement)
    }

    fn give_back(
        &self,
        call: &ChargeRequest<'_>,
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::give_back(self, call)
    }

    fn forget(&self, subject: &ForgetRequest<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send {
        S::forget(self, subject)
    }

    fn post(
        &self,
        note: &Note,
        now_ms: u64,
    ) -> impl Future<Output = Result<PostOutcome, Self::Error>> + Send {
        S::post(self, note, now_ms)
    }

    fn withdraw(&self, id: &str) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        S::withdraw(self, id)
    }

    fn notes(&self) -> impl Future<Output = Result<Notes, Self::Error>> + Send {
        S::notes(self)
    }
}

/// One request, as a store sees it.
#[derive(Clone, Copy, Debug)]
pub struct ChargeRequest<'a> {
    /// The time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// An id that no other request has, for in-flight limits and permits.
    pub holder: u64,
    /// What it charges.
    pub charges: &'a [Charge<'a>],
}

/// A request, and what of its charges may be given back.
#[derive(Clone, Copy, Debug)]
pub struct ReserveRequest<'a> {
    /// The request.
    pub charge: ChargeRequest<'a>,
    /// One for every charge.
    pub refunds: &'a [RefundScope],
}

impl<'a> ReserveRequest<'a> {
    /// A request of which nothing may be given back.
    pub fn without_refunds(charge: ChargeRequest<'a>) -> Self {
        Self { charge, refunds: &[] }
    }

    /// What of a charge may be given back.
    pub fn refund_scope(&self, charge: usize) -> RefundScope {
        self.refunds.get(charge).copied().unwrap_or_default()
    }
}

/// What of a charge may be given back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RefundScope {
    /// Nothing: no permit is opened.
    #[default]
    Nothing,
    /// Places in flight, which end with the request whatever it cost.
    Places,
    /// Everything.
    Everything,
}

impl RefundScope {
    /// Whether what a charge recorded under this limit may be given back.
    pub fn includes(self, limit: &Limit) -> bool {
        match self {
            Self::Nothing => false,
            Self::Places => limit.needs_id(),
            Self::Everything => !matches!(limit.kind(), LimitKind::Gcra { .. }),
        }
    }

    /// Whether the permit needs a number: places in flight are found by the holder's id.
    pub fn is_numbered(self, limits: &[Limit]) -> bool {
        limits.iter().any(|limit| self.includes(limit) && !limit.needs_id())
    }
}

/// The answer to a request whose charges may be given back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admission {
    /// The answer.
    pub verdict: Verdict,
    /// What was opened.
    pub grants: Grants,
}

/// The permits of one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Grants {
    /// None: it was refused, or nothing of it may be given back.
    Nothing,
    /// One for every charge of which something may be given back.
    Permits(Vec<Option<Grant>>),
    /// None, and nothing was charged: a subject has as many open permits as it may; see [`MAX_OPEN_PERMITS`](slidegate_core::MAX_OPEN_PERMITS).
    TooManyOpen,
}

impl Grants {
    /// The permits of a request's charges.
    pub fn new(grants: Vec<Option<Grant>>) -> Self {
        if grants.iter().any(Option::is_some) { Self::Permits(grants) } else { Self::Nothing }
    }

    /// The permit of a charge.
    pub fn of(&self, charge: usize) -> Option<Grant> {
        match self {
            Self::Permits(grants) => grants.get(charge).copied().flatten(),
            Self::Nothing | Self::TooManyOpen => None,
        }
    }
}

impl Admission {
    /// Whether the request was charged.
    pub fn is_admitted(&self) -> bool {
        self.verdict.is_allowed() && self.grants != Grants::TooManyOpen
    }
}

impl From<Verdict> for Admission {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, grants: Grants::Nothing }
    }
}

/// A cost to one subject, under all the limits that apply to it.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: &'a Key<'a>,
    /// Its limits; no two with the same id.
    pub limits: &'a [Limit],
    /// Units asked for, or given back; 0 only looks.
    pub cost: u64,
}

/// Which limit decides where charges of one request meet on one history: the one with less room.
pub fn stricter(one: &Limit, other: &Limit) -> Limit {
    if is_stricter(other, one) { *other } else { *one }
}

/// Whether a limit decides before another one of the same history.
pub fn is_stricter(one: &Limit, other: &Limit) -> bool {
    let room = |limit: &Limit| (limit.ceiling(), limit.quota());
    room(one) < room(other)
}

/// A subject that is to be as if never seen.
#[derive(Clone, Copy, Debug)]
pub struct ForgetRequest<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: &'a Key<'a>,
    /// All limits that it may have been charged under.
    pub limits: &'a [LimitId],
}

/// The answer to a request that may have been sent before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum IdempotentOutcome {
    /// It was not known, and was decided now.
    Decided(Admission),
    /// It was admitted before, and is charged once.
    Replayed {
        /// The answer of then.
        admission: Admission,
        /// [`ChargeRequest::holder`] of then, under which it can be settled.
        holder: u64,
    },
    /// Something else was asked for under this key, and admitted.
    Conflict,
    /// There is no room to remember another answer, so nothing was decided.
    Full,
}

/// An admitted request whose costs are to be replaced.
#[derive(Clone, Debug)]
pub struct Settlement<'a> {
    /// The time of the request, for stores without a clock of their own.
    pub now_ms: u64,
    /// The permit's id.
    pub id: u64,
    /// The cost that counts instead; 0 refunds.
    pub cost: u64,
    /// The places in flight that stay taken; 0 releases.
    pub places: u64,
    /// What was recorded, subject by subject.
    pub subjects: Vec<ChargeRecord<'a>>,
}

impl Settlement<'_> {
    /// What counts instead under this limit.
    pub fn cost_of(&self, limit: LimitId) -> u64 {
        if limit.is_in_flight() { self.places } else { self.cost }
    }
}

/// What an admitted request recorded for one subject.
#[derive(Clone, Debug)]
pub struct ChargeRecord<'a> {
    /// The rule or limiter whose subject it is.
    pub space: Space,
    /// The subject.
    pub key: Key<'a>,
    /// The permit in the subject's ledger.
    pub grant: Grant,
    /// Where it was recorded.
    pub receipts: Vec<(LimitId, Receipt)>,
}

impl ChargeRecord<'_> {
    /// When all of it has left its windows.
    pub fn release_ms(&self) -> u64 {
        let each =
            self.receipts.iter().filter_map(|(id, receipt)| Some(receipt.release_ms(&settle_limit(*id)?)));
        each.max().unwrap_or(0)
    }
}

/// A limit of this name: what settling does is the same whatever the quota. A meter keeps nothing that could be settled.
pub fn settle_limit(id: LimitId) -> Option<Limit> {
    let [head, window_ms] = id.to_words();
    let limit = Limit::from_words([head, 1, window_ms, 1]).ok()?;
    (!matches!(limit.kind(), LimitKind::Gcra { .. })).then_some(limit)
}

/// What came of a refund or a settlement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettleOutcome {
    /// The recorded cost was replaced.
    Settled,
    /// On some subjects the recorded cost was replaced; the others had been reset since, and nothing was changed there.
    PartlySettled,
    /// What was recorded has left every window: there is nothing to replace.
    Expired,
    /// The permit was used before; nothing changed.
    AlreadySpent,
    /// What was recorded is not there any more: the subject was reset, or its state was lost. Nothing changed.
    Void,
}

impl SettleOutcome {
    /// What came of a permit, from what came of it on each of its subjects.
    ///
    /// A subject on which it was used before, beside one on which it is settled now, comes from an attempt that was cut off: then
    /// all of the permit is settled.
    pub fn of_all(parts: &[Self]) -> Self {
        let has = |outcome| parts.contains(&outcome);
        match (has(Self::Settled), has(Self::AlreadySpent), has(Self::Void)) {
            (true, _, true) => Self::PartlySettled,
            (true, _, false) => Self::Settled,
            (false, true, _) => Self::AlreadySpent,
            (false, false, true) => Self::Void,
            (false, false, false) => Self::Expired,
        }
    }

    /// Its name in every protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::PartlySettled => "partly_settled",
            Self::Expired => "expired",
            Self::AlreadySpent => "already_spent",
            Self::Void => "void",
        }
    }
}
