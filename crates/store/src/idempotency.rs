//! Idempotency cache of this process: requests that may come again, and what they were answered, under a bound.
//!
//! An answer is never forgotten before its time. Where there is no room for another, a request is refused before it is
//! charged; a subject that holds more than its share is refused first, so that nobody fills the cache for others.

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

/// The most answers that a process remembers; one with more than two decisions counts as several, one for every two. Beyond that, and
/// for a subject beyond its share, requests under new idempotency keys are refused ([`IdempotentOutcome::Full`]).
pub const MAX_IDEMPOTENCY_ENTRIES: usize = 262_144;

/// The longest for which an answer is remembered.
pub const MAX_IDEMPOTENCY_MS: u64 = 60_000;
/// No answer ends later than this from now, unless the clock was set back by more than it could have been remembered.
const MAX_AHEAD_MS: u64 = 2 * MAX_IDEMPOTENCY_MS;
/// A request is decided under the lock of its part, so there are many.
const SHARDS: usize = 64;
/// Every answer that comes takes the place of more than one that is over, so that these never pile up.
const DROPPED_AT_ONCE: usize = 2;
/// A subject may add answers while it holds at most so many times what is free: one alone fills seven eighths.
const SHARE: usize = 7;

/// Idempotency keys, as fingerprints, and what was answered under them.
#[derive(Debug)]
pub(crate) struct Remembered {
    fingerprints: Fingerprints,
    shards: Box<[Mutex<Shard>]>,
    room: Room,
    /// When all shards were last cleared of what is over.
    swept_ms: AtomicU64,
}

/// What all answers take, and those of each subject.
#[derive(Debug)]
struct Room {
    taken: AtomicUsize,
    subjects: Box<[Mutex<HashMap<Fingerprint, usize>>]>,
}

#[derive(Default, Debug)]
struct Shard {
    answers: HashMap<Fingerprint, Answer>,
    /// The same, by their ends.
    ends: BTreeSet<(u64, Fingerprint)>,
}

/// An admission.
#[derive(Debug)]
struct Answer {
    asked: [u8; 16],
    admission: Admission,
    holder: u64,
    end_ms: u64,
    place: Place,
}

/// The part of the room that an answer has.
#[derive(Debug)]
struct Place {
    subjects: SmallVec<[Fingerprint; 1]>,
    weight: usize,
}

/// The shortest window of what is asked for, or a minute.
pub fn lifetime_ms(charges: &[Charge<'_>]) -> u64 {
    let windows = charges.iter().flat_map(|charge| charge.limits).map(|limit| limit.window_ms());
    windows.min().unwrap_or(0).min(MAX_IDEMPOTENCY_MS)
}

/// Tells what is asked from anything else that could be. Quotas have no part in it.
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

impl Remembered {
    pub(crate) fn new() -> Self {
        let shards = (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect();
        let (fingerprints, room) = (Fingerprints::new(random()), Room::new());
        Self { fingerprints, shards, room, swept_ms: AtomicU64::new(0) }
    }

    /// The answer of then, or one that is made now. Nobody else is answered under this key meanwhile, so that requests that come
    /// at the same time are charged once.
    pub(crate) fn once(
        &self,
        call: &ChargeRequest<'_>,
        idempotency_key: &[u8],
        decide: impl FnOnce() -> Admission,
    ) -> IdempotentOutcome {
        let key = self.fingerprints.of(Space([0, 0]), &Key::from(idempotency_key));
        let (asked, lifetime_ms) = (digest(call.charges), lifetime_ms(call.charges));
        if lifetime_ms == 0 {
            // Without limits there is nothing that could be charged twice.
            return IdempotentOutcome::Decided(decide());
        }
        let now_ms = call.now_ms.min(MAX_TIME_MS);
        let place = self.place(call.charges);
        if self.room.is_short_for(&place) {
            self.sweep(now_ms);
        }
        let mut shard = self.shards[key.below(SHARDS)].lock();
        if let Some(answer) = shard.answers.get(&key).filter(|answer| is_live(answer.end_ms, now_ms)) {
            return match answer.asked == asked {
                true => {
                    IdempotentOutcome::Replayed { admission: answer.admission.clone(), holder: answer.holder }
                }
                false => IdempotentOutcome::Conflict,
            };
        }
        shard.forget(key, &self.room);
        for _ in 0..DROPPED_AT_ONCE {
            let Some(key) = shard.dead(now_ms) else { break };
            shard.forget(key, &self.room);
        }
        if !self.room.take(&place) {
            return IdempotentOutcome::Full;
        }
        let admission = decide();
        if admission.is_admitted() {
            let (end_ms, holder) = (now_ms + lifetime_ms, call.holder);
            shard.keep(key, Answer { asked, admission: admission.clone(), holder, end_ms, place });
        } else {
            self.room.give_back(&place);
        }
        IdempotentOutcome::Decided(admission)
    }

    /// What an answer to these charges takes. Up to two decisions need no memory of their own.
    fn place(&self, charges: &[Charge<'_>]) -> Place {
        let of = |charge: &Charge<'_>| self.fingerprints.of(charge.space, charge.key);
        let mut subjects: SmallVec<[Fingerprint; 1]> = charges.iter().map(of).collect();
        subjects.sort_unstable();
        subjects.dedup();
        let decisions: usize = charges.iter().map(|charge| charge.limits.len()).sum();
        Place { subjects, weight: decisions.div_ceil(2).max(1) }
    }

    /// Drops all that is over, at most once a millisecond.
    fn sweep(&self, now_ms: u64) {
        if self.swept_ms.swap(now_ms, Ordering::Relaxed) == now_ms {
            return;
        }
        for shard in &self.shards {
            let mut shard = shard.lock();
            while let Some(key) = shard.dead(now_ms) {
                shard.forget(key, &self.room);
            }
        }
    }
}

impl Room {
    fn new() -> Self {
        let subjects = (0..SHARDS).map(|_| Mutex::new(HashMap::new())).collect();
        Self { taken: AtomicUsize::new(0), subjects }
    }

    fn held(&self, subject: Fingerprint) -> usize {
        self.subjects[subject.below(SHARDS)].lock().get(&subject).copied().unwrap_or(0)
    }

    /// A request on several subjects counts as of the one that holds least: what all requests share says nothing of who fills it.
    fn is_short_for(&self, place: &Place) -> bool {
        let free = MAX_IDEMPOTENCY_ENTRIES.saturating_sub(self.taken.load(Ordering::Relaxed));
        let least = place.subjects.iter().map(|subject| self.held(*subject)).min().unwrap_or(0);
        place.weight > free || least > SHARE * (free - place.weight)
    }

    /// Takes the place, unless there is no room for it.
    fn take(&self, place: &Place) -> bool {
        if self.is_short_for(place) {
            return false;
        }
        // Requests at the same time may each have seen the last of it: the sum is what counts.
        if self.taken.fetch_add(place.weight, Ordering::Relaxed) + place.weight > MAX_IDEMPOTENCY_ENTRIES {
            self.taken.fetch_sub(place.weight, Ordering::Relaxed);
            return false;
        }
        for subject in &place.subjects {
            *self.subjects[subject.below(SHARDS)].lock().entry(*subject).or_default() += place.weight;
        }
        true
    }

    fn give_back(&self, place: &Place) {
        for subject in &place.subjects {
            let mut subjects = self.subjects[subject.below(SHARDS)].lock();
            if let Some(held) = subjects.get_mut(subject) {
                *held -= place.weight;
                if *held == 0 {
                    subjects.remove(subject);
                }
            }
        }
        self.taken.fetch_sub(place.weight, Ordering::Relaxed);
    }
}

impl Shard {
    fn keep(&mut self, key: Fingerprint, answer: Answer) {
        self.ends.insert((answer.end_ms, key));
        self.answers.insert(key, answer);
    }

    /// One that has no effect any more: it is over, or it was made by a clock that was wrong.
    fn dead(&self, now_ms: u64) -> Option<Fingerprint> {
        let edges = [self.ends.first(), self.ends.last()];
        edges.into_iter().flatten().find(|(end_ms, _)| !is_live(*end_ms, now_ms)).map(|(_, key)| *key)
    }

    fn forget(&mut self, key: Fingerprint, room: &Room) {
        if let Some(answer) = self.answers.remove(&key) {
            self.ends.remove(&(answer.end_ms, key));
            room.give_back(&answer.place);
        }
    }
}

fn is_live(end_ms: u64, now_ms: u64) -> bool {
    now_ms < end_ms && end_ms - now_ms <= MAX_AHEAD_MS
}

#[cfg(test)]
mod tests;
