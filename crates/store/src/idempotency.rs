//! Idempotency cache of this process: admissions under idempotency keys, within a bound.
//!
//! An entry is never evicted before it expires. When the cache is full, a request is rejected
//! before it is charged. A subject above its fair share is rejected first, so that no subject can
//! fill the cache for others.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use sha2::{Digest, Sha256};
use slidegate_core::MAX_TIME_MS;
use smallvec::SmallVec;

use super::{Admission, Charge, ChargeRequest, IdempotentOutcome};
use crate::fingerprint::{Fingerprint, Fingerprints};
use crate::key::{Key, Space};
use crate::random::random;
use crate::sync::Mutex;

/// Maximum number of cache entries; an answer with more than two decisions counts as one entry per
/// two decisions. Beyond it, and for a subject above its fair share, requests under new idempotency
/// keys are rejected ([`IdempotentOutcome::Full`]).
pub const MAX_IDEMPOTENCY_ENTRIES: usize = 262_144;

/// Maximum lifetime of an entry.
pub const MAX_IDEMPOTENCY_MS: u64 = 60_000;
/// An entry that ends later than this was written by a clock that has been set back since.
const MAX_AHEAD_MS: u64 = 2 * MAX_IDEMPOTENCY_MS;
/// Number of shards. Requests are decided under the lock of their shard, so there are many.
const SHARDS: usize = 64;
/// Expired entries that each insertion removes: more than one, so that they never accumulate.
const DROPS_PER_INSERT: usize = 2;
/// A subject may add entries while it has at most this many times the free ones: a single subject
/// fills seven eighths.
const SHARE: usize = 7;

/// Idempotency cache: admissions by fingerprint of the key.
#[derive(Debug)]
pub(crate) struct IdempotencyCache {
    fingerprints: Fingerprints,
    shards: Box<[Mutex<CacheShard>]>,
    budget: CacheBudget,
    /// Time of the last sweep of all shards.
    swept_ms: AtomicU64,
}

/// Budget of the cache: entries in total and by subject.
#[derive(Debug)]
struct CacheBudget {
    used: AtomicUsize,
    subjects: Box<[Mutex<HashMap<Fingerprint, usize>>]>,
}

#[derive(Default, Debug)]
struct CacheShard {
    answers: HashMap<Fingerprint, CacheEntry>,
    /// The same by expiry.
    ends: BTreeSet<(u64, Fingerprint)>,
}

/// Cached admission.
#[derive(Debug)]
struct CacheEntry {
    digest: [u8; 16],
    admission: Admission,
    holder: u64,
    end_ms: u64,
    entry_cost: EntryCost,
}

/// Share of the budget that an entry uses.
#[derive(Debug)]
struct EntryCost {
    subjects: SmallVec<[Fingerprint; 1]>,
    weight: usize,
}

/// Lifetime of an entry: the shortest window of its charges, at most a minute.
pub fn lifetime_ms(charges: &[Charge<'_>]) -> u64 {
    let windows = charges.iter().flat_map(|charge| charge.limits).map(|limit| limit.window_ms());
    windows.min().unwrap_or(0).min(MAX_IDEMPOTENCY_MS)
}

/// Digest of the charges, which distinguishes requests under one key. Excludes quotas.
pub fn digest(charges: &[Charge<'_>]) -> [u8; 16] {
    let mut hash = Sha256::new();
    let mut add = |words: &[u64]| words.iter().for_each(|word| hash.update(word.to_le_bytes()));
    for Charge { space: Space(space), key, limits, cost } in charges {
        add(space);
        add(&[*cost, limits.len() as u64]);
        limits.iter().for_each(|limit| add(&limit.id().to_words()));
        add(&[key.form() as u64, key.bytes().len() as u64]);
        key.bytes().chunks(8).for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            add(&[u64::from_le_bytes(word)]);
        });
    }
    *hash.finalize().first_chunk().expect("a digest has 32 bytes")
}

impl IdempotencyCache {
    pub(crate) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::new(CacheShard::default())).collect();
        let (fingerprints, budget) = (Fingerprints::new(random()), CacheBudget::new());
        Self { fingerprints, shards, budget, swept_ms: AtomicU64::new(0) }
    }

    /// Cached answer, or the result of `decide`. Holds the lock of the key's shard meanwhile,
    /// so that concurrent requests are charged once.
    pub(crate) fn decide(
        &self,
        call: &ChargeRequest<'_>,
        idempotency_key: &[u8],
        decide: impl FnOnce() -> Admission,
    ) -> IdempotentOutcome {
        let key = self.fingerprints.of(Space([0, 0]), &Key::from(idempotency_key));
        let (digest, lifetime_ms) = (digest(call.charges), lifetime_ms(call.charges));
        if lifetime_ms == 0 {
            // Without limits nothing can be charged twice.
            return IdempotentOutcome::Decided(decide());
        }
        let now_ms = call.now_ms.min(MAX_TIME_MS);
        let entry_cost = self.entry_cost(call.charges);
        if self.budget.is_short_for(&entry_cost) {
            self.sweep(now_ms);
        }
        let mut shard = self.shards[key.below(SHARDS)].lock();
        if let Some(answer) = shard.answers.get(&key).filter(|answer| is_live(answer.end_ms, now_ms)) {
            return match answer.digest == digest {
                true => {
                    IdempotentOutcome::Replayed { admission: answer.admission.clone(), holder: answer.holder }
                }
                false => IdempotentOutcome::Conflict,
            };
        }
        shard.remove(key, &self.budget);
        for _ in 0..DROPS_PER_INSERT {
            let Some(key) = shard.expired(now_ms) else { break };
            shard.remove(key, &self.budget);
        }
        if !self.budget.take(&entry_cost) {
            return IdempotentOutcome::Full;
        }
        let admission = decide();
        if admission.is_admitted() {
            let (end_ms, holder) = (now_ms + lifetime_ms, call.holder);
            shard
                .insert(key, CacheEntry { digest, admission: admission.clone(), holder, end_ms, entry_cost });
        } else {
            self.budget.give_back(&entry_cost);
        }
        IdempotentOutcome::Decided(admission)
    }

    /// Cost of an answer to these charges. Up to two decisions need no allocation.
    fn entry_cost(&self, charges: &[Charge<'_>]) -> EntryCost {
        let of = |charge: &Charge<'_>| self.fingerprints.of(charge.space, charge.key);
        let mut subjects: SmallVec<[Fingerprint; 1]> = charges.iter().map(of).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let decisions: usize = charges.iter().map(|charge| charge.limits.len()).sum();
        EntryCost { subjects, weight: decisions.div_ceil(2).max(1) }
    }

    /// Removes all expired entries, at most once a millisecond.
    fn sweep(&self, now_ms: u64) {
        if self.swept_ms.swap(now_ms, Ordering::Relaxed) == now_ms {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.lock();
            while let Some(key) = shard.expired(now_ms) {
                shard.remove(key, &self.budget);
            }
        }
    }
}

impl CacheBudget {
    fn new() -> Self {
        let subjects = (0..SHARDS).map(|_| Mutex::new(HashMap::new())).collect();
        Self { used: AtomicUsize::new(0), subjects }
    }

    fn in_use(&self, subject: Fingerprint) -> usize {
        self.subjects[subject.below(SHARDS)].lock().get(&subject).copied().unwrap_or(0)
    }

    /// A request on several subjects counts for the one with the fewest entries: a subject that all
    /// requests share does not identify who fills the cache.
    fn is_short_for(&self, entry_cost: &EntryCost) -> bool {
        let free = MAX_IDEMPOTENCY_ENTRIES.saturating_sub(self.used.load(Ordering::Relaxed));
        let least = entry_cost.subjects.iter().map(|subject| self.in_use(*subject)).min().unwrap_or(0);
        entry_cost.weight > free || least > SHARE * (free - entry_cost.weight)
    }

    /// Charges the cost to the budget; `false` if it does not fit.
    fn take(&self, entry_cost: &EntryCost) -> bool {
        if self.is_short_for(entry_cost) {
            return false;
        }
        // Concurrent requests may each have found the last free entry: the sum decides.
        if self.used.fetch_add(entry_cost.weight, Ordering::Relaxed) + entry_cost.weight
            > MAX_IDEMPOTENCY_ENTRIES
        {
            self.used.fetch_sub(entry_cost.weight, Ordering::Relaxed);
            return false;
        }
        for subject in &entry_cost.subjects {
            *self.subjects[subject.below(SHARDS)].lock().entry(*subject).or_default() += entry_cost.weight;
        }
        true
    }

    fn give_back(&self, entry_cost: &EntryCost) {
        for subject in &entry_cost.subjects {
            let mut subjects = self.subjects[subject.below(SHARDS)].lock();
            if let Some(in_use) = subjects.get_mut(subject) {
                *in_use -= entry_cost.weight;
                if *in_use == 0 {
                    subjects.remove(subject);
                }
            }
        }
        self.used.fetch_sub(entry_cost.weight, Ordering::Relaxed);
    }
}

impl CacheShard {
    fn insert(&mut self, key: Fingerprint, answer: CacheEntry) {
        self.ends.insert((answer.end_ms, key));
        self.answers.insert(key, answer);
    }

    /// Entry without effect: expired, or written by a wrong clock.
    fn expired(&self, now_ms: u64) -> Option<Fingerprint> {
        let edges = [self.ends.first(), self.ends.last()];
        edges.into_iter().flatten().find(|(end_ms, _)| !is_live(*end_ms, now_ms)).map(|(_, key)| *key)
    }

    fn remove(&mut self, key: Fingerprint, budget: &CacheBudget) {
        if let Some(answer) = self.answers.remove(&key) {
            self.ends.remove(&(answer.end_ms, key));
            budget.give_back(&answer.entry_cost);
        }
    }
}

fn is_live(end_ms: u64, now_ms: u64) -> bool {
    now_ms < end_ms && end_ms - now_ms <= MAX_AHEAD_MS
}

#[cfg(test)]
mod tests;
