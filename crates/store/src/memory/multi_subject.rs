//! Requests on several subjects: all their shards are locked, in order, before any state is read.

use slidegate_core::{Attempt, Decision, Decisions, Limit, LimitAttempt, Verdict, decide, evaluate};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::eviction::OutOfMemory;
use super::shard::{Shard, refuse};
use super::subject::{LimitState, SubjectState};
use crate::fingerprint::Fingerprint;
use crate::sync::MutexGuard;
use crate::{ChargeRequest, stricter};

/// Subject of a request, taken out of its shard while the request is decided.
pub(super) struct LoadedSubject {
    pub(super) fingerprint: Fingerprint,
    pub(super) shard: usize,
    pub(super) subject: SubjectState,
    /// The subject before the request, if that is small.
    pub(super) original: Option<SubjectState>,
    /// Its limits before the request.
    limits_before: SmallVec<[Limit; 1]>,
    /// Its limits, each with the cost of all the charges on it.
    pub(super) limits: SmallVec<[(Limit, u64); 4]>,
    /// Result of the reservation of memory for the charge.
    reserved: Result<(), OutOfMemory>,
}

impl LoadedSubject {
    /// Largest cost under one of its limits.
    pub(super) fn cost(&self) -> u64 {
        self.limits.iter().map(|(_, cost)| *cost).max().unwrap_or(0)
    }

    /// Puts the states of its limits first.
    pub(super) fn align(&mut self) {
        let limits: SmallVec<[Limit; 4]> = self.limits.iter().map(|(limit, _)| *limit).collect();
        self.subject.align(&limits);
    }

    /// Attempts on its limits, which are aligned.
    pub(super) fn attempts(&mut self, holder: u64) -> SmallVec<[LimitAttempt<'_>; 4]> {
        let pairs = self.limits.iter().zip(&mut self.subject.limit_states);
        pairs
            .map(|((limit, cost), LimitState { state, .. })| LimitAttempt {
                limit,
                cost: *cost,
                holder,
                state,
            })
            .collect()
    }
}

/// Locked shards of one request, in order.
pub(super) struct ShardGuards<'a>(SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>);

impl ShardGuards<'_> {
    pub(super) fn shard(&mut self, index: usize) -> &mut Shard {
        let found = self.0.binary_search_by_key(&index, |(index, _)| *index);
        &mut self.0[found.expect("every shard of the request is locked")].1
    }
}

impl Memory {
    pub(super) fn lock(&self, fingerprints: &[Fingerprint]) -> ShardGuards<'_> {
        let mut order: SmallVec<[usize; 4]> = SmallVec::new();
        for fingerprint in fingerprints {
            let shard = self.shard_of(fingerprint);
            match order.iter().position(|other| *other >= shard) {
                Some(at) if order[at] == shard => {}
                Some(at) => order.insert(at, shard),
                None => order.push(shard),
            }
        }
        ShardGuards(order.into_iter().map(|index| (index, self.shards[index].lock())).collect())
    }

    pub(super) fn decide_multi_subject(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.decide_in_place(call).unwrap_or_else(|| self.decide_loaded(call))
    }

    /// Decides with all subjects taken out of their shards.
    #[inline(never)]
    pub(super) fn decide_loaded(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.with_subjects(call, |subjects, guards| {
            // A peek writes nothing.
            if !is_peek(call) {
                self.reserve_memory_for_all(call, subjects, guards, |_| 0);
            }
            decide_subjects(subjects, call)
        })
    }

    /// Runs `answer` with all subjects of a request loaded; returns its decisions in the order of
    /// the charges.
    pub(super) fn with_subjects(
        &self,
        call: &ChargeRequest<'_>,
        answer: impl FnOnce(&mut [LoadedSubject], &mut ShardGuards<'_>) -> Verdict,
    ) -> Verdict {
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            call.charges.iter().map(|charge| self.fingerprints.of(charge.space, charge.key)).collect();
        let mut guards = self.lock(&fingerprints);
        let mut subjects = self.load_subjects(call, &fingerprints, &mut guards);
        let verdict = answer(&mut subjects, &mut guards);
        let charges = call.charges.iter().zip(&fingerprints);
        let limits = charges.flat_map(|(charge, f)| charge.limits.iter().map(move |limit| (f, limit)));
        let decisions: Decisions = limits.map(|(f, limit)| find(&subjects, &verdict, f, limit)).collect();
        for mut loaded in subjects {
            if loaded.cost() == 0 {
                loaded.subject.restore(&loaded.limits_before);
            }
            let shard = guards.shard(loaded.shard);
            let subject = (loaded.subject, loaded.original);
            shard.put_back(&self.interner, loaded.fingerprint, subject, call.now_ms);
        }
        Verdict::new(verdict.decided_at_ms, decisions)
    }

    /// Takes every subject out of its shard, and sums the charges that meet on one limit.
    fn load_subjects(
        &self,
        call: &ChargeRequest<'_>,
        fingerprints: &[Fingerprint],
        guards: &mut ShardGuards<'_>,
    ) -> Vec<LoadedSubject> {
        let mut subjects: Vec<LoadedSubject> = Vec::with_capacity(fingerprints.len());
        for (charge, fingerprint) in call.charges.iter().zip(fingerprints) {
            let existing = subjects.iter().position(|loaded| loaded.fingerprint == *fingerprint);
            let index = existing.unwrap_or_else(|| {
                let shard = self.shard_of(fingerprint);
                let group = self.interner.group(charge.space);
                let subject = guards.shard(shard).take_out(&self.interner, *fingerprint);
                let subject = subject.unwrap_or_else(|| SubjectState::new(group));
                let (original, limits_before) = (subject.small_copy(), subject.limits().copied().collect());
                subjects.push(LoadedSubject {
                    fingerprint: *fingerprint,
                    shard,
                    subject,
                    original,
                    limits_before,
                    limits: SmallVec::new(),
                    reserved: Ok(()),
                });
                subjects.len() - 1
            });
            for limit in charge.limits {
                let limits = &mut subjects[index].limits;
                match limits.iter_mut().find(|(other, _)| other.id() == limit.id()) {
                    Some((existing, cost)) => {
                        *cost = cost.saturating_add(charge.cost);
                        *existing = stricter(existing, limit);
                    }
                    None => limits.push((*limit, charge.cost)),
                }
            }
        }
        subjects.iter_mut().for_each(LoadedSubject::align);
        subjects
    }

    /// Reserves memory for all charges, so that no two subjects count on the same memory.
    pub(super) fn reserve_memory_for_all(
        &self,
        call: &ChargeRequest<'_>,
        subjects: &mut [LoadedSubject],
        guards: &mut ShardGuards<'_>,
        permits: impl Fn(&LoadedSubject) -> usize,
    ) {
        for loaded in subjects {
            let attempt = Attempt { now_ms: call.now_ms, cost: loaded.cost(), holder: call.holder };
            let subject = &loaded.subject;
            let footprint = match permits(loaded) {
                0 => subject.footprint_after(&self.interner, attempt),
                permits => {
                    let bytes = subject.heap_bytes() + subject.growth() + subject.permit_bytes(permits);
                    Footprint::SLOT.with_heap(bytes)
                }
            };
            let shard = guards.shard(loaded.shard);
            loaded.reserved =
                shard.reserve_memory(&self.interner, &mut loaded.subject, footprint, call.now_ms);
        }
    }
}

pub(super) fn decide_subjects(subjects: &mut [LoadedSubject], call: &ChargeRequest<'_>) -> Verdict {
    decide_subjects_by(subjects, call, decide)
}

/// Decides by a function that charges all or nothing.
pub(super) fn decide_subjects_by(
    subjects: &mut [LoadedSubject],
    call: &ChargeRequest<'_>,
    decide: impl FnOnce(&mut [LimitAttempt<'_>], u64) -> Verdict,
) -> Verdict {
    let ChargeRequest { now_ms, holder, .. } = *call;
    let reserved = subjects.iter().find_map(|loaded| loaded.reserved.err());
    let bound = subjects.iter_mut().find_map(|loaded| loaded.subject.check_bound(now_ms).err());
    let mut attempts: SmallVec<[LimitAttempt<'_>; 8]> =
        subjects.iter_mut().flat_map(|loaded| loaded.attempts(holder)).collect();
    let verdict = match reserved.or(bound).filter(|_| !is_peek(call)) {
        None => decide(&mut attempts, now_ms),
        Some(out_of_memory) => refuse(evaluate(&mut attempts, now_ms), out_of_memory),
    };
    drop(attempts);
    for loaded in subjects {
        let cost = loaded.cost();
        loaded.subject.set_denied(cost, verdict.is_allowed());
    }
    verdict
}

/// Evaluates all limits without a charge.
pub(super) fn evaluate_subjects(subjects: &mut [LoadedSubject], call: &ChargeRequest<'_>) -> Verdict {
    let mut attempts: SmallVec<[LimitAttempt<'_>; 8]> =
        subjects.iter_mut().flat_map(|loaded| loaded.attempts(call.holder)).collect();
    evaluate(&mut attempts, call.now_ms)
}

pub(super) fn is_peek(call: &ChargeRequest<'_>) -> bool {
    call.charges.iter().all(|charge| charge.cost == 0)
}

/// Decision on one limit of one subject.
pub(super) fn find(
    subjects: &[LoadedSubject],
    verdict: &Verdict,
    fingerprint: &Fingerprint,
    limit: &Limit,
) -> Decision {
    let mut index = 0;
    for loaded in subjects {
        if loaded.fingerprint == *fingerprint {
            let within = loaded.limits.iter().position(|(other, _)| other.id() == limit.id());
            return verdict.decisions[index + within.expect("every limit was evaluated")];
        }
        index += loaded.limits.len();
    }
    unreachable!("every subject is loaded")
}
