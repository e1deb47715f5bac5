//! Permits: opened when a request is charged, and closed by its one settlement.

use slidegate_core::{Attempt, Limit, Receipt};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::multi_subject::{LoadedSubject, decide_subjects, evaluate_subjects, find, is_peek};
use super::shard::Shard;
use super::slot::SlotContent;
use super::subject::SubjectState;
use crate::fingerprint::Fingerprint;
use crate::{
    Admission, Charge, ChargeRequest, Grants, MAX_LIMITS, RefundScope, ReserveRequest, SettleOutcome,
    Settlement,
};

/// Subject of a settlement, taken out of its shard.
struct SettlementSubject {
    shard: usize,
    fingerprint: Fingerprint,
    subject: SubjectState,
}

impl Memory {
    /// [`Store::reserve`](crate::Store::reserve) without waiting, which cannot fail.
    pub fn reserve_now(&self, request: &ReserveRequest<'_>) -> Admission {
        let call = &request.charge;
        let scope = |charge: usize| request.refund_scope(charge);
        if is_peek(call) || request.refunds.iter().all(|scope| *scope == RefundScope::Nothing) {
            return self.decide_now(call).into();
        }
        if let Some(admission) = self.reserve_in_place(request) {
            return admission;
        }
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            call.charges.iter().map(|charge| self.fingerprints.of(charge.space, charge.key)).collect();
        let permits_of = |loaded: &LoadedSubject| {
            let charges =
                (0..call.charges.len()).filter(|&charge| fingerprints[charge] == loaded.fingerprint);
            charges.filter(|&charge| scope(charge) != RefundScope::Nothing).count()
        };
        let mut all_grants = Grants::Nothing;
        let verdict = self.with_subjects(call, |subjects, guards| {
            subjects.iter_mut().for_each(|loaded| loaded.subject.permits.prune(call.now_ms));
            let numbered = |charge: usize| scope(charge).is_numbered(call.charges[charge].limits);
            let is_full =
                |charge: usize| loaded_mut(subjects, &fingerprints[charge]).subject.permits.is_full();
            if (0..call.charges.len()).filter(|charge| numbered(*charge)).any(is_full) {
                all_grants = Grants::TooManyOpen;
                return evaluate_subjects(subjects, call);
            }
            // A denial writes nothing, and needs no memory.
            if evaluate_subjects(subjects, call).is_allowed() {
                self.reserve_memory_for_all(call, subjects, guards, permits_of);
            }
            let verdict = decide_subjects(subjects, call);
            if verdict.is_allowed() {
                let grants = call.charges.iter().zip(&fingerprints).enumerate();
                let grants = grants.map(|(index, (charge, fingerprint))| {
                    let stamps = charge.limits.iter();
                    let stamps =
                        stamps.map(|limit| (limit, find(subjects, &verdict, fingerprint, limit).stamp_ms));
                    let until_ms = release_ms(stamps, charge, scope(index))?;
                    let permits = &mut loaded_mut(subjects, fingerprint).subject.permits;
                    let id = call.holder ^ self.generations;
                    Some(match numbered(index) {
                        true => permits.grant(id, until_ms),
                        false => permits.grant_slots(id, until_ms),
                    })
                });
                all_grants = Grants::new(grants);
            }
            verdict
        });
        Admission { verdict, grants: all_grants }
    }

    /// Decides a request on one subject on the heap in place; `None`, and nothing is decided, if it
    /// is not there, has other limits, or needs scarce memory.
    fn reserve_in_place(&self, request: &ReserveRequest<'_>) -> Option<Admission> {
        let ChargeRequest { now_ms, holder, charges: [charge] } = request.charge else { return None };
        let fingerprint = self.fingerprints.of(charge.space, charge.key);
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { slots, budget, .. } = &mut *shard;
        let slot = slots.find_mut(fingerprint)?;
        let SlotContent::Heap(subject) = &mut slot.content else { return None };
        subject.permits.prune(now_ms);
        let scope = request.refund_scope(0);
        let is_numbered = scope.is_numbered(charge.limits);
        let more = Footprint::heap(subject.growth() + subject.permit_bytes(1));
        if !subject.is_aligned(charge.limits)
            || subject.limit_states.len() > MAX_LIMITS
            || is_numbered && subject.permits.is_full()
            || budget.shortage(subject.group, more).is_some()
        {
            return None;
        }
        let verdict = subject.decide(charge.limits, Attempt { now_ms, cost: charge.cost, holder });
        let mut grants = Grants::Nothing;
        if verdict.is_allowed() {
            let stamps = charge.limits.iter().zip(&*verdict.decisions);
            let until_ms =
                release_ms(stamps.map(|(limit, decision)| (limit, decision.stamp_ms)), charge, scope);
            let (id, permits) = (holder ^ self.generations, &mut subject.permits);
            let grant = until_ms.map(|until_ms| match is_numbered {
                true => permits.grant(id, until_ms),
                false => permits.grant_slots(id, until_ms),
            });
            grants = Grants::new([grant]);
        }
        subject.update_budget(budget);
        Some(Admission { verdict, grants })
    }

    /// [`Memory::settle_now`] for a charge of one subject on the heap, in place; `None`, and nothing
    /// changes, if it is not there, or might need memory. The subject stays even if nothing is left of
    /// it: the next request finds it, and the sweep for a new subject removes it.
    pub fn settle_in_place(&self, settlement: &Settlement<'_>) -> Option<SettleOutcome> {
        let [record] = settlement.subjects.as_slice() else { return None };
        let fingerprint = self.fingerprints.of(record.space, &record.key);
        let mut shard = self.shards[self.shard_of(&fingerprint)].lock();
        let Shard { slots, budget, .. } = &mut *shard;
        let slot = slots.find_mut(fingerprint)?;
        let SlotContent::Heap(subject) = &mut slot.content else { return None };
        if subject.settled_bytes(settlement.cost) > subject.budgeted.heap_bytes as usize {
            return None;
        }
        let outcome = subject.settle(record, settlement);
        subject.update_budget(budget);
        Some(outcome)
    }

    /// [`Store::settle`](crate::Store::settle) without waiting, which cannot fail.
    pub fn settle_now(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome> {
        if let Some(outcome) = self.settle_in_place(settlement) {
            return vec![outcome];
        }
        let mut outcomes = vec![SettleOutcome::Void; settlement.subjects.len()];
        // Without permits nothing is settled.
        self.settle_each(settlement, SubjectState::has_permits, |index, subject| {
            outcomes[index] = match subject {
                Some(subject) => subject.settle(&settlement.subjects[index], settlement),
                None if settlement.subjects[index].release_ms() <= settlement.now_ms => {
                    SettleOutcome::Expired
                }
                None => SettleOutcome::Void,
            };
        });
        outcomes
    }

    /// Replaces what another store recorded under a permit, as far as it was recorded here too.
    /// That store has the permit.
    pub(crate) fn replace_now(&self, settlement: &Settlement<'_>) {
        self.settle_each(
            settlement,
            |_| true,
            |index, subject| {
                if let Some(subject) = subject {
                    subject.replace(&settlement.subjects[index], settlement);
                }
            },
        );
    }

    /// Runs `settle` on each subject of a settlement, as far as it exists.
    fn settle_each(
        &self,
        settlement: &Settlement<'_>,
        may_change: impl Fn(&SubjectState) -> bool,
        mut settle: impl FnMut(usize, Option<&mut SubjectState>),
    ) {
        let Settlement { now_ms, ref subjects, .. } = *settlement;
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            subjects.iter().map(|charged| self.fingerprints.of(charged.space, &charged.key)).collect();
        let mut guards = self.lock(&fingerprints);
        let mut found: SmallVec<[SettlementSubject; 2]> = SmallVec::new();
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            let existing = found.iter().position(|other| other.fingerprint == *fingerprint);
            let at = existing.or_else(|| {
                let shard = self.shard_of(fingerprint);
                let mut subject = guards.shard(shard).take_out(&self.interner, *fingerprint)?;
                if may_change(&subject) {
                    self.reserve_memory_for_settlement(guards.shard(shard), &mut subject, settlement);
                }
                found.push(SettlementSubject { shard, fingerprint: *fingerprint, subject });
                Some(found.len() - 1)
            });
            settle(index, at.map(|at| &mut found[at].subject));
        }
        for SettlementSubject { shard, fingerprint, subject } in found {
            guards.shard(shard).put_back(&self.interner, fingerprint, (subject, None), now_ms);
        }
    }

    /// Reserves memory for a settlement. If there is none, it is written all the same, because
    /// usage must not be dropped. It then exceeds the bound by at most one log whose counts outgrow
    /// their entries, until something is forgotten.
    fn reserve_memory_for_settlement(
        &self,
        shard: &mut Shard,
        subject: &mut SubjectState,
        settlement: &Settlement<'_>,
    ) {
        let footprint = Footprint::SLOT.with_heap(subject.settled_bytes(settlement.cost));
        if shard.reserve_memory(&self.interner, subject, footprint, settlement.now_ms).is_err() {
            // No request was denied.
            shard.stats.refused_for_room -= 1;
        }
    }
}

/// Time at which the refundable part of a charge has left its windows; `None` if there is no such
/// part.
fn release_ms<'l>(
    stamps: impl Iterator<Item = (&'l Limit, u64)>,
    charge: &Charge<'_>,
    scope: RefundScope,
) -> Option<u64> {
    let stamps = stamps.filter(|(limit, _)| scope.includes(limit));
    let ends =
        stamps.map(|(limit, stamp_ms)| Receipt { stamp_ms, cost: charge.cost, holder: 0 }.release_ms(limit));
    ends.max().filter(|_| charge.cost != 0)
}

fn loaded_mut<'g>(subjects: &'g mut [LoadedSubject], fingerprint: &Fingerprint) -> &'g mut LoadedSubject {
    subjects.iter_mut().find(|loaded| loaded.fingerprint == *fingerprint).expect("every subject is loaded")
}
