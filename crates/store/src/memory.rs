//! In-memory store: the state of this process, within a memory bound.
//!
//! A sharded table, keyed by 128-bit fingerprints; all limits of a subject share one entry. Every
//! shard has its own lock and its own part of `max_memory`. No call does work that grows with the
//! table.
//!
//! The idempotency cache is not part of the bound: it is empty without idempotency keys and takes
//! at most some 128 MiB. Snapshots leave it out. Notes are not part of it either, and take 16 MiB
//! at most. Snapshots include them.

use std::convert::Infallible;
use std::ops::Deref;

use slidegate_core::{Attempt, LeaseClose, LeaseReply, LeaseRequest, Limit, LimitKind, Prepayment, Verdict};

use crate::fingerprint::{Fingerprint, Fingerprints, Seed};
use crate::idempotency::IdempotencyCache;
use crate::key::{Key, Space};
use crate::random::random;
use crate::sync::{Mutex, MutexGuard};
use crate::{
    Admission, Charge, ChargeRequest, ForgetRequest, IdempotentOutcome, LeaseStore, LeaseSubject, Note,
    Notes, PostOutcome, ReserveRequest, SettleOutcome, Settlement, Store,
};

#[cfg(test)]
mod audit;
mod budget;
mod bytes;
mod cell;
mod codec;
mod counter_pair;
mod eviction;
mod fast_path;
mod fullness;
mod give_back;
mod interner;
mod layout;
mod lease;
mod location;
mod max_size;
mod multi_fast_path;
mod multi_subject;
mod notes;
mod packed;
mod permits;
mod row;
mod shard;
mod slot;
mod snapshot;
mod snapshot_reader;
mod subject;
mod table;

use interner::{Interner, SpecNumber};
pub use max_size::max_subject_bytes;
use shard::{SHARD_BYTES, Shard, SubjectCharge};
pub use snapshot::SnapshotError;

/// Default bound: 256 MiB, which is about 4.7 million subjects with one counter each.
pub const DEFAULT_MAX_MEMORY: usize = 256 << 20;
/// Smallest bound.
pub const MIN_MAX_MEMORY: usize = 64 << 10;

/// Minimum number of shards, so that threads rarely wait for each other.
const MIN_SHARDS: usize = 16;
/// Minimum size of a shard, so that it fits a log.
const MIN_SHARD_BYTES: usize = 16 << 10;

/// Lock of a shard, in two cache lines of its own, so that threads on different shards do not
/// disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct ShardLock(Mutex<Shard>);

impl ShardLock {
    #[inline(always)]
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.0.lock()
    }
}

/// In-memory store.
#[derive(Debug)]
pub struct Memory {
    max_memory: usize,
    fingerprints: Fingerprints,
    interner: Interner,
    shards: Box<[ShardLock]>,
    idempotency: IdempotencyCache,
    notes: Mutex<Notes>,
    /// Distinguishes the generations of its permits from those of another store.
    generations: u64,
}

/// Limits with everything that can be computed from them before the first request. Owned by a
/// limiter, or borrowed for one call.
#[derive(Debug)]
pub struct PreparedLimits<L> {
    /// Space of the limiter.
    pub space: Space,
    /// Its limits.
    pub limits: L,
    path: FastPath,
    /// The first two limits, beside the rest to save a lookup.
    first: Limit,
    second: Limit,
    number: SpecNumber,
}

/// Fast path for a set of limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FastPath {
    Counter,
    Log,
    Two,
    One,
    Several,
}

impl<L: Deref<Target = [Limit]>> PreparedLimits<L> {
    /// Prepares the limits of a limiter.
    pub fn new(space: Space, limits: L) -> Self {
        let (path, first, second) = match &*limits {
            [one] => match one.kind() {
                LimitKind::Counter => (FastPath::Counter, *one, *one),
                LimitKind::Log { .. } => (FastPath::Log, *one, *one),
                _ => (FastPath::One, *one, *one),
            },
            [one, two] => (FastPath::Two, *one, *two),
            _ => (FastPath::Several, Limit::per_second(1), Limit::per_second(1)),
        };
        Self { space, limits, path, first, second, number: SpecNumber::unknown() }
    }
}

/// Statistics of a store: its size, and the effects of its bound.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Subjects in the table, including idle ones that are not removed yet.
    pub keys: usize,
    /// Bytes in use.
    pub bytes: usize,
    /// Live subjects that were evicted.
    pub forgotten_keys: u64,
    /// Units that evicted subjects had in use.
    pub forgotten_units: u64,
    /// Requests that were denied because memory was full and no subject could be evicted.
    pub refused_for_room: u64,
}

impl Memory {
    /// Store that uses at most `max_memory` bytes (and at least [`MIN_MAX_MEMORY`]).
    pub fn new(max_memory: usize) -> Self {
        Self::with_seed(max_memory, random())
    }

    fn with_seed(max_memory: usize, seed: Seed) -> Self {
        let max_memory = max_memory.max(MIN_MAX_MEMORY);
        let count = (max_memory / SHARD_BYTES).max(MIN_SHARDS).min(max_memory / MIN_SHARD_BYTES);
        let fingerprints = Fingerprints::new(seed);
        let random = u64::from_le_bytes(*seed.first_chunk().expect("a seed has 32 bytes"));
        let shard =
            |index: usize| ShardLock(Mutex::new(Shard::new(max_memory / count, random ^ index as u64)));
        let shards = (0..count).map(shard).collect();
        Self {
            max_memory,
            fingerprints,
            interner: Interner::new(),
            shards,
            idempotency: IdempotencyCache::new(),
            notes: Mutex::new(Notes::default()),
            generations: 0,
        }
    }

    /// Store beside another one that gets the same requests, and so names generations of permits by
    /// the same ids: makes the permits of one void in the other.
    pub fn beside_another(self) -> Self {
        Self { generations: u64::from_le_bytes(random()), ..self }
    }

    /// [`Store::decide`] without waiting, which cannot fail.
    pub fn decide_now(&self, call: &ChargeRequest<'_>) -> Verdict {
        let ChargeRequest { now_ms, holder, charges: [charge] } = *call else {
            return self.decide_multi_subject(call);
        };
        let Charge { space, key, limits, cost } = *charge;
        let prepared = PreparedLimits::new(space, limits);
        prepared.number.look_up(&self.interner, space, limits);
        self.decide_subject(key, &prepared, (now_ms, cost), holder)
    }

    /// [`Store::decide_idempotent`] without waiting, which cannot fail.
    pub fn decide_idempotent_now(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> IdempotentOutcome {
        self.idempotency.decide(&request.charge, idempotency_key, || self.reserve_now(request))
    }

    /// Decides a request on one subject. The common cases are separate and small functions, which
    /// keep their values in registers.
    #[inline(always)]
    pub fn decide_subject<L: Deref<Target = [Limit]>>(
        &self,
        key: &Key<'_>,
        prepared: &PreparedLimits<L>,
        attempt_at: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let fingerprint = self.fingerprints.of(prepared.space, key);
        match prepared.path {
            FastPath::Counter => self.decide_counter(fingerprint, prepared, attempt_at),
            FastPath::Log => self.decide_log(fingerprint, prepared, attempt_at),
            FastPath::Two => self.decide_two(fingerprint, prepared, attempt_at, holder),
            FastPath::One => self.decide_one(fingerprint, prepared, attempt_at, holder),
            FastPath::Several => self.decide_slow(fingerprint, prepared, attempt_at, holder),
        }
    }

    /// Decides a request on one subject without a fast path.
    #[cold]
    #[inline(never)]
    fn decide_slow<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        PreparedLimits { space, limits, number, .. }: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
        holder: u64,
    ) -> Verdict {
        number.look_up(&self.interner, *space, limits);
        let attempt = Attempt { now_ms, cost, holder };
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        shard.decide(&self.interner, fingerprint, SubjectCharge { space: *space, limits, attempt })
    }

    /// Memory bound, in bytes.
    pub fn max_memory(&self) -> usize {
        self.max_memory
    }

    /// Statistics. Locks every shard in turn.
    pub fn stats(&self) -> Stats {
        self.shards.iter().fold(Stats::default(), |sum, shard| {
            let shard = shard.lock();
            Stats {
                keys: sum.keys + shard.slots.len() + shard.rows.len(),
                bytes: sum.bytes + shard.budget.bytes(),
                forgotten_keys: sum.forgotten_keys + shard.stats.forgotten_keys,
                forgotten_units: sum.forgotten_units.saturating_add(shard.stats.forgotten_units),
                refused_for_room: sum.refused_for_room + shard.stats.refused_for_room,
            }
        })
    }

    #[inline(always)]
    fn shard_of(&self, fingerprint: &Fingerprint) -> usize {
        fingerprint.below(self.shards.len())
    }
}

impl AsRef<Memory> for Memory {
    fn as_ref(&self) -> &Memory {
        self
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_MEMORY)
    }
}

impl Store for Memory {
    type Error = Infallible;

    async fn decide(&self, call: &ChargeRequest<'_>) -> Result<Verdict, Infallible> {
        Ok(self.decide_now(call))
    }

    async fn reserve(&self, request: &ReserveRequest<'_>) -> Result<Admission, Infallible> {
        Ok(self.reserve_now(request))
    }

    async fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> Result<IdempotentOutcome, Infallible> {
        Ok(self.decide_idempotent_now(request, idempotency_key))
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<Vec<SettleOutcome>, Infallible> {
        Ok(self.settle_now(settlement))
    }

    async fn give_back(&self, call: &ChargeRequest<'_>) -> Result<Verdict, Infallible> {
        Ok(self.give_back_now(call))
    }

    async fn forget(&self, subject: &ForgetRequest<'_>) -> Result<(), Infallible> {
        self.forget_now(subject);
        Ok(())
    }

    async fn post(&self, note: &Note, now_ms: u64) -> Result<PostOutcome, Infallible> {
        Ok(self.post_now(note, now_ms))
    }

    async fn withdraw(&self, id: &str) -> Result<bool, Infallible> {
        Ok(self.withdraw_now(id))
    }

    async fn notes(&self) -> Result<Notes, Infallible> {
        Ok(self.notes_now())
    }
}

impl LeaseStore for Memory {
    async fn lease(
        &self,
        subject: &LeaseSubject<'_>,
        request: &LeaseRequest,
        now_ms: u64,
    ) -> Result<LeaseReply, Infallible> {
        Ok(self.lease_now(subject, request, now_ms))
    }

    async fn close_lease(
        &self,
        subject: &LeaseSubject<'_>,
        close: &LeaseClose,
        now_ms: u64,
    ) -> Result<bool, Infallible> {
        Ok(self.close_lease_now(subject, close, now_ms))
    }

    async fn decide_prepaid(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> Result<Verdict, Infallible> {
        Ok(self.decide_prepaid_now(call, prepayments))
    }
}
