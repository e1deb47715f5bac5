//! Requests that may come again, and what they were answered: in this process, under a bound.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest, Sha256};
use slidegate_core::{MAX_TIME_MS, Verdict};

use super::{Call, Charge, Once};
use crate::fingerprint::{Fingerprint, Fingerprints};
use crate::key::{Key, Space};
use crate::random::random;
use crate::sync::Mutex;

/// The most answers that a process remembers; one with more than two decisions counts as several, one for every two. Beyond that,
/// those that end first are forgotten, and if such a request comes again, it is charged again.
pub const MAX_REMEMBERED: usize = 65_536;

/// The longest for which an answer is remembered.
pub(crate) const MAX_REMEMBERED_MS: u64 = 60_000;
/// No answer ends later than this from now, unless the clock was set back by more than it could have been remembered.
const MAX_AHEAD_MS: u64 = 2 * MAX_REMEMBERED_MS;
/// How often an answer is given again.
const MAX_REPLAYS: u8 = 10;
/// A request is decided under the lock of its part, so there are many.
const SHARDS: usize = 64;
/// Every answer that comes takes the place of more than one that is over, so that these never pile up.
const DROPPED_AT_ONCE: usize = 2;

/// Idempotency keys, as fingerprints, and what was answered under them.
#[derive(Debug)]
pub(crate) struct Remembered {
    fingerprints: Fingerprints,
    shards: Box<[Mutex<Shard>]>,
}

#[derive(Default, Debug)]
struct Shard {
    answers: HashMap<Fingerprint, Answer>,
    /// The same, by their ends.
    ends: BTreeSet<(u64, Fingerprint)>,
    weight: usize,
}

/// An admission.
#[derive(Debug)]
struct Answer {
    asked: [u8; 16],
    verdict: Verdict,
    end_ms: u64,
    replays: u8,
}

/// The shortest window of what is asked for, or a minute.
pub(crate) fn lives_ms(charges: &[Charge<'_>]) -> u64 {
    let windows = charges.iter().flat_map(|charge| charge.limits).map(|limit| limit.window_ms());
    windows.min().unwrap_or(0).min(MAX_REMEMBERED_MS)
}

/// Tells what is asked from anything else that could be. Quotas have no part in it.
pub(crate) fn digest(charges: &[Charge<'_>]) -> [u8; 16] {
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
        Self { fingerprints: Fingerprints::new(random()), shards }
    }

    /// The answer of then, or one that is made now. Nobody else is answered under this key meanwhile, so that requests that come
    /// at the same time are charged once.
    pub(crate) fn once(
        &self,
        call: &Call<'_>,
        idempotency_key: &[u8],
        decide: impl FnOnce() -> Verdict,
    ) -> Once {
        let key = self.fingerprints.of(Space([0, 0]), &Key::from(idempotency_key));
        let (asked, lives_ms) = (digest(call.charges), lives_ms(call.charges));
        if lives_ms == 0 {
            // Without limits there is nothing that could be charged twice.
            return Once::Decided(decide());
        }
        let now_ms = call.now_ms.min(MAX_TIME_MS);
        let mut shard = self.shards[key.below(SHARDS)].lock();
        if let Some(answer) = shard.answers.get_mut(&key).filter(|answer| is_live(answer.end_ms, now_ms)) {
            if answer.asked != asked {
                return Once::Conflict;
            }
            if answer.replays < MAX_REPLAYS {
                answer.replays += 1;
                return Once::Replayed(answer.verdict.clone());
            }
        }
        let verdict = decide();
        if verdict.is_allowed() {
            let end_ms = now_ms + lives_ms;
            shard.keep(key, Answer { asked, verdict: verdict.clone(), end_ms, replays: 0 }, now_ms);
        }
        Once::Decided(verdict)
    }
}

impl Shard {
    fn keep(&mut self, key: Fingerprint, answer: Answer, now_ms: u64) {
        self.forget(key);
        for _ in 0..DROPPED_AT_ONCE {
            let Some(key) = self.dead(now_ms) else { break };
            self.forget(key);
        }
        let weight = weight(&answer);
        while self.weight + weight > MAX_REMEMBERED / SHARDS {
            let first = self.ends.first().map(|(_, key)| *key);
            let Some(key) = self.dead(now_ms).or(first) else { break };
            self.forget(key);
        }
        self.weight += weight;
        self.ends.insert((answer.end_ms, key));
        self.answers.insert(key, answer);
    }

    /// One that has no effect any more: it is over, or it was made by a clock that was wrong.
    fn dead(&self, now_ms: u64) -> Option<Fingerprint> {
        let edges = [self.ends.first(), self.ends.last()];
        edges.into_iter().flatten().find(|(end_ms, _)| !is_live(*end_ms, now_ms)).map(|(_, key)| *key)
    }

    fn forget(&mut self, key: Fingerprint) {
        if let Some(answer) = self.answers.remove(&key) {
            self.ends.remove(&(answer.end_ms, key));
            self.weight -= weight(&answer);
        }
    }
}

fn is_live(end_ms: u64, now_ms: u64) -> bool {
    now_ms < end_ms && end_ms - now_ms <= MAX_AHEAD_MS
}

/// Up to two decisions need no memory of their own.
fn weight(answer: &Answer) -> usize {
    answer.verdict.decisions.len().div_ceil(2).max(1)
}

#[cfg(test)]
#[path = "once_tests.rs"]
mod tests;
