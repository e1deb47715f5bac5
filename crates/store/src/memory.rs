//! State in this process, under a bound.
//!
//! A table in shards, keyed by 128-bit fingerprints; all limits of a subject sit in one entry. Every shard has its own lock
//! and its own part of `max_memory`. No call does work that grows with the table.
//!
//! What is remembered under idempotency keys comes on top: nothing where there are none, and at most some 128 MiB. Snapshots
//! leave it out. The board comes on top too: as much as its notes, which are 16 MiB at most. Snapshots have it.

use std::convert::Infallible;
use std::ops::Deref;

use slidegate_core::{Attempt, Limit, LimitKind, Verdict};

use crate::fingerprint::{Fingerprint, Fingerprints, Seed};
use crate::idempotency::Remembered;
use crate::key::{Key, Space};
use crate::random::random;
use crate::sync::{Mutex, MutexGuard};
use crate::{
    Admission, Charge, ChargeRequest, ForgetRequest, IdempotentOutcome, Note, Notes, PostOutcome,
    ReserveRequest, SettleOutcome, Settlement, Store,
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
mod max_size;
mod multi_subject;
mod notes;
mod permits;
mod row;
mod shard;
mod slot;
mod snapshot;
mod snapshot_reader;
mod subject;
mod table;

use interner::{Number, Registry};
pub use max_size::max_subject_bytes;
use shard::{Demand, SHARD_BYTES, Shard};
pub use snapshot::SnapshotError;

/// The bound where none is given: 256 MiB, which is about 4.7 million subjects with one counter each.
pub const DEFAULT_MAX_MEMORY: usize = 256 << 20;
/// The smallest bound.
pub const MIN_MAX_MEMORY: usize = 64 << 10;

/// Fewer shards than this would have threads wait for each other.
const MIN_SHARDS: usize = 16;
/// Smaller shards than this could not hold a log.
const MIN_SHARD_BYTES: usize = 16 << 10;

/// A shard and its lock in two cache lines of their own, so that threads on different shards do not disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct Locked(Mutex<Shard>);

impl Locked {
    #[inline(always)]
    fn lock(&self) -> MutexGuard<'_, Shard> {
        self.0.lock()
    }
}

/// The in-memory store.
#[derive(Debug)]
pub struct Memory {
    max_memory: usize,
    fingerprints: Fingerprints,
    registry: Registry,
    shards: Box<[Locked]>,
    remembered: Remembered,
    board: Mutex<Notes>,
    /// What makes the generations of its ledgers others than the ids of requests.
    generations: u64,
}

/// What a limiter decides by: its limits, in a box of its own, or borrowed for one call; and what can be known of them
/// before anything is asked.
#[derive(Debug)]
pub struct PreparedLimits<L> {
    /// Space of the limiter.
    pub space: Space,
    /// Its limits.
    pub limits: L,
    way: Way,
    /// The limits again, for the ways that have one or two: beside the rest, they need not be looked for.
    first: Limit,
    second: Limit,
    number: Number,
}

/// How a request is decided where its subject is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Counter,
    Log,
    Two,
    One,
    Several,
}

impl<L: Deref<Target = [Limit]>> PreparedLimits<L> {
    /// Of a limiter with these limits.
    pub fn new(space: Space, limits: L) -> Self {
        let (way, first, second) = match &*limits {
            [one] => match one.kind() {
                LimitKind::Counter => (Way::Counter, *one, *one),
                LimitKind::Log { .. } => (Way::Log, *one, *one),
                _ => (Way::One, *one, *one),
            },
            [one, two] => (Way::Two, *one, *two),
            _ => (Way::Several, Limit::per_second(1), Limit::per_second(1)),
        };
        Self { space, limits, way, first, second, number: Number::unknown() }
    }
}

/// What a store holds, and what its bound has cost so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    /// Subjects in the table, those included that are as if never seen and not yet dropped.
    pub keys: usize,
    /// Bytes in use.
    pub bytes: usize,
    /// Live subjects that were forgotten to make room.
    pub forgotten_keys: u64,
    /// Units that these had in use.
    pub forgotten_units: u64,
    /// Requests that were refused because nothing could be forgotten.
    pub refused_for_room: u64,
}

impl Memory {
    /// A store that uses at most `max_memory` bytes (and at least [`MIN_MAX_MEMORY`]).
    pub fn new(max_memory: usize) -> Self {
        Self::with_seed(max_memory, random())
    }

    fn with_seed(max_memory: usize, seed: Seed) -> Self {
        let max_memory = max_memory.max(MIN_MAX_MEMORY);
        let count = (max_memory / SHARD_BYTES).max(MIN_SHARDS).min(max_memory / MIN_SHARD_BYTES);
        let fingerprints = Fingerprints::new(seed);
        let random = u64::from_le_bytes(*seed.first_chunk().expect("a seed has 32 bytes"));
        let shard = |index: usize| Locked(Mutex::new(Shard::new(max_memory / count, random ^ index as u64)));
        let shards = (0..count).map(shard).collect();
        Self {
            max_memory,
            fingerprints,
            registry: Registry::new(),
            shards,
            remembered: Remembered::new(),
            board: Mutex::new(Notes::default()),
            generations: 0,
        }
    }

    /// Beside a store that names the generations of its ledgers by the same ids: no permit of one is then known to the other.
    pub fn beside_another(self) -> Self {
        Self { generations: u64::from_le_bytes(random()), ..self }
    }

    /// [`Store::decide`] without waiting, which cannot fail.
    pub fn decide_now(&self, call: &ChargeRequest<'_>) -> Verdict {
        let ChargeRequest { now_ms, holder, charges: [charge] } = *call else {
            return self.decide_several(call);
        };
        let Charge { space, key, limits, cost } = *charge;
        let terms = PreparedLimits::new(space, limits);
        terms.number.look_up(&self.registry, space, limits);
        self.decide_subject(key, &terms, (now_ms, cost), holder)
    }

    /// [`Store::decide_idempotent`] without waiting, which cannot fail.
    pub fn decide_idempotent_now(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> IdempotentOutcome {
        self.remembered.once(&request.charge, idempotency_key, || self.reserve_now(request))
    }

    /// Decides a request on one subject. The parts that most requests come to are apart, and each is small, so that it
    /// keeps its values in registers.
    #[inline(always)]
    pub fn decide_subject<L: Deref<Target = [Limit]>>(
        &self,
        key: &Key<'_>,
        terms: &PreparedLimits<L>,
        asked: (u64, u64),
        holder: u64,
    ) -> Verdict {
        let fingerprint = self.fingerprints.of(terms.space, key);
        match terms.way {
            Way::Counter => self.decide_counter(fingerprint, terms, asked),
            Way::Log => self.decide_log(fingerprint, terms, asked),
            Way::Two => self.decide_two(fingerprint, terms, asked, holder),
            Way::One => self.decide_one(fingerprint, terms, asked, holder),
            Way::Several => self.decide_anywhere(fingerprint, terms, asked, holder),
        }
    }

    /// Decides a request on one subject, whatever that takes.
    #[cold]
    #[inline(never)]
    fn decide_anywhere<L: Deref<Target = [Limit]>>(
        &self,
        fingerprint: Fingerprint,
        PreparedLimits { space, limits, number, .. }: &PreparedLimits<L>,
        (now_ms, cost): (u64, u64),
        holder: u64,
    ) -> Verdict {
        number.look_up(&self.registry, *space, limits);
        let attempt = Attempt { now_ms, cost, holder };
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        shard.decide(&self.registry, fingerprint, Demand { space: *space, limits, attempt })
    }

    /// The bound, in bytes.
    pub fn max_memory(&self) -> usize {
        self.max_memory
    }

    /// What it holds. Looks at every shard in turn.
    pub fn stats(&self) -> Stats {
        self.shards.iter().fold(Stats::default(), |sum, shard| {
            let shard = shard.lock();
            Stats {
                keys: sum.keys + shard.slots.len() + shard.rows.len(),
                bytes: sum.bytes + shard.books.bytes(),
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
