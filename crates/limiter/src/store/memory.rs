//! State in this process, under a bound.
//!
//! A table in shards, keyed by 128-bit fingerprints; all limits of a subject sit in one entry. Every shard has its own lock
//! and its own part of `max_memory`. No call does work that grows with the table.

use std::convert::Infallible;

use slidegate_core::{Attempt, Counter, Decision, Kind, Limit, MAX_TIME_MS, Verdict};

use crate::fingerprint::{Fingerprint, Fingerprints, Seed};
use crate::key::{Key, Space};
use crate::store::{Call, Charge, SettleOutcome, Settlement, Store};
use crate::sync::{Mutex, MutexGuard};

mod books;
mod codec;
mod registry;
mod room;
mod several;
mod shard;
mod slot;
mod snapshot;
mod subject;
mod table;

use registry::Registry;
use shard::{Demand, SHARD_BYTES, Shard};
use slot::{Holding, decide_as, decide_packed};
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
        let mut seed = Seed::default();
        getrandom::fill(&mut seed).expect("the system has random numbers");
        Self::with_seed(max_memory, seed)
    }

    fn with_seed(max_memory: usize, seed: Seed) -> Self {
        let max_memory = max_memory.max(MIN_MAX_MEMORY);
        let count = (max_memory / SHARD_BYTES).max(MIN_SHARDS).min(max_memory / MIN_SHARD_BYTES);
        let fingerprints = Fingerprints::new(seed);
        let random = u64::from_le_bytes(*seed.first_chunk().expect("a seed has 32 bytes"));
        let shard = |index: usize| Locked(Mutex::new(Shard::new(max_memory / count, random ^ index as u64)));
        Self { max_memory, fingerprints, registry: Registry::new(), shards: (0..count).map(shard).collect() }
    }

    /// [`Store::decide`] without waiting, which cannot fail.
    pub fn decide_now(&self, call: &Call<'_>) -> Verdict {
        let Call { now_ms, charges: [charge], .. } = *call else { return self.decide_several(call) };
        let (subject, asked) = ((charge.space, charge.key), (now_ms, charge.cost));
        match charge.limits {
            [limit] => self.decide_one_in_place(subject, limit, asked, || self.decide_anywhere(call, charge)),
            [first, second] => match self.decide_two_in_place(subject, [first, second], asked) {
                Some(two) => Verdict { decided_at_ms: now_ms, decisions: two.into() },
                None => self.decide_anywhere(call, charge),
            },
            _ => self.decide_anywhere(call, charge),
        }
    }

    /// Decides the request's only charge, whatever that takes.
    #[inline(never)]
    pub(crate) fn decide_anywhere(&self, call: &Call<'_>, charge: &Charge<'_>) -> Verdict {
        let Charge { space, key, limits, cost } = *charge;
        let fingerprint = self.fingerprints.of(space, key);
        let attempt = Attempt { now_ms: call.now_ms, cost, holder: call.holder };
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        shard.decide(&self.registry, fingerprint, Demand { space, limits, attempt })
    }

    /// Decides a request on one subject under one limit where that takes no memory and no id: what most requests are.
    /// Otherwise nothing changed, and `start_over` answers, in the end by [`Memory::decide_anywhere`]. That this path keeps nothing for the other one, and its values
    /// in registers, makes it a third shorter.
    #[inline(always)]
    pub(crate) fn decide_one_in_place(
        &self,
        (space, key): (Space, &Key<'_>),
        limit: &Limit,
        (now_ms, cost): (u64, u64),
        start_over: impl FnOnce() -> Verdict,
    ) -> Verdict {
        'in_place: {
            let fingerprint = self.fingerprints.of(space, key);
            let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
            let Shard { table, books, .. } = &mut *shard;
            let Some(slot) = table.find_mut(fingerprint) else { break 'in_place };
            let verdict = |one: Decision| Verdict { decided_at_ms: now_ms, decisions: [one].into() };
            match &mut slot.holding {
                Holding::Packed { spec, when, payload } => {
                    if now_ms > MAX_TIME_MS
                        || self.registry.spec(*spec).is_none_or(|known| known.limit != *limit)
                    {
                        break 'in_place;
                    }
                    if limit.kind() == Kind::Counter {
                        match decide_as::<Counter>(limit, (when, payload), (now_ms, cost)) {
                            Some(decision) => return verdict(decision),
                            None => break 'in_place,
                        }
                    }
                    if let Some(decision) = decide_packed(limit, (when, payload), (now_ms, cost)) {
                        return verdict(decision);
                    }
                }
                Holding::Heap(subject) => {
                    if let Some(decision) = subject.decide_one_in_place(books, limit, (now_ms, cost)) {
                        return verdict(decision);
                    }
                }
            }
        }
        start_over()
    }

    /// The same under two limits.
    #[inline(never)]
    pub(crate) fn decide_two_in_place(
        &self,
        (space, key): (Space, &Key<'_>),
        limits: [&Limit; 2],
        asked: (u64, u64),
    ) -> Option<[Decision; 2]> {
        let fingerprint = self.fingerprints.of(space, key);
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { table, books, .. } = &mut *shard;
        match &mut table.find_mut(fingerprint)?.holding {
            Holding::Packed { .. } => None,
            Holding::Heap(subject) => subject.decide_two_in_place(books, limits, asked),
        }
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
                keys: sum.keys + shard.table.len(),
                bytes: sum.bytes + shard.books.bytes(),
                forgotten_keys: sum.forgotten_keys + shard.stats.forgotten_keys,
                forgotten_units: sum.forgotten_units.saturating_add(shard.stats.forgotten_units),
                refused_for_room: sum.refused_for_room + shard.stats.refused_for_room,
            }
        })
    }

    /// Spreads the second half of a fingerprint over the shards; the table within uses the first.
    #[inline]
    fn shard_of(&self, fingerprint: &Fingerprint) -> usize {
        ((u128::from(fingerprint[1]) * self.shards.len() as u128) >> 64) as usize
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

    async fn decide(&self, call: &Call<'_>) -> Result<Verdict, Infallible> {
        Ok(self.decide_now(call))
    }

    async fn settle(&self, settlement: &Settlement<'_>) -> Result<SettleOutcome, Infallible> {
        Ok(self.settle_now(settlement))
    }
}
