//! Permits: opened with what a request is charged, and closed by the one settlement that each is
//! good for.

use slidegate_core::{Grant, Receipt, Verdict};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::multi_subject::{LoadedSubject, decide_subjects, evaluate_subjects, find, is_peek};
use super::shard::Shard;
use super::subject::SubjectState;
use crate::fingerprint::Fingerprint;
use crate::{Admission, Charge, Grants, RefundScope, ReserveRequest, SettleOutcome, Settlement};

/// A subject of a settlement, out of its shard.
struct SettlementSubject {
    shard: usize,
    fingerprint: Fingerprint,
    subject: SubjectState,
}

impl Memory {
    /// [`Store::reserve`](crate::Store::reserve) without waiting, which cannot fail.
    pub fn reserve_now(&self, request: &ReserveRequest<'_>) -> Admission {
        let call = &request.charge;
        let returns = |charge: usize| request.refund_scope(charge);
        if is_peek(call) || request.refunds.iter().all(|returns| *returns == RefundScope::Nothing) {
            return self.decide_now(call).into();
        }
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            call.charges.iter().map(|charge| self.fingerprints.of(charge.space, charge.key)).collect();
        let permits_of = |loaded: &LoadedSubject| {
            let charges =
                (0..call.charges.len()).filter(|&charge| fingerprints[charge] == loaded.fingerprint);
            charges.filter(|&charge| returns(charge) != RefundScope::Nothing).count()
        };
        let mut granted = Grants::Nothing;
        let verdict = self.with_subjects(call, |subjects, guards| {
            subjects.iter_mut().for_each(|loaded| loaded.subject.ledger.prune(call.now_ms));
            let numbered = |charge: usize| returns(charge).is_numbered(call.charges[charge].limits);
            let has_room = |charge: usize| !loaded(subjects, &fingerprints[charge]).subject.ledger.is_full();
            if (0..call.charges.len()).any(|charge| numbered(charge) && !has_room(charge)) {
                granted = Grants::TooManyOpen;
                return evaluate_subjects(subjects, call);
            }
            // Where nothing is written, nothing is needed.
            if evaluate_subjects(subjects, call).is_allowed() {
                self.reserve_memory_for_all(call, subjects, guards, permits_of);
            }
            let verdict = decide_subjects(subjects, call);
            if verdict.is_allowed() {
                let grants = call.charges.iter().zip(&fingerprints).enumerate();
                let grants = grants.map(|(index, (charge, fingerprint))| {
                    let until_ms = release_ms(subjects, &verdict, fingerprint, charge, returns(index))?;
                    let ledger = &mut guest_mut(subjects, fingerprint).subject.ledger;
                    Some(grant(ledger, call.holder ^ self.generations, until_ms, numbered(index)))
                });
                granted = Grants::new(grants.collect());
            }
            verdict
        });
        Admission { verdict, grants: granted }
    }

    /// [`Store::settle`](crate::Store::settle) without waiting, which cannot fail.
    pub fn settle_now(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome> {
        let mut outcomes = vec![SettleOutcome::Void; settlement.subjects.len()];
        // Where there is no ledger, nothing is settled.
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

    /// Replaces what another store recorded under a permit, as far as it was recorded here too:
    /// that store has the ledger.
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

    /// Has the subjects of a settlement at hand, each that is there.
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
}

impl Memory {
    /// Makes room for what a settlement may take. Where there is none it is written all the same:
    /// what was used must not be dropped. It then exceeds the bound by no more than one log does
    /// whose counts outgrow their entries, until something is forgotten.
    fn reserve_memory_for_settlement(
        &self,
        shard: &mut Shard,
        subject: &mut SubjectState,
        settlement: &Settlement<'_>,
    ) {
        let footprint = Footprint::SLOT.with_heap(subject.settled_bytes(settlement.cost));
        if shard.reserve_memory(&self.interner, subject, footprint, settlement.now_ms).is_err() {
            // No request was refused.
            shard.stats.refused_for_room -= 1;
        }
    }
}

fn grant(ledger: &mut slidegate_core::Ledger, id: u64, until_ms: u64, numbered: bool) -> Grant {
    if numbered { ledger.grant(id, until_ms) } else { ledger.grant_places(id, until_ms) }
}

/// When all that a charge recorded, as far as it may be given back, has left its windows; `None` if
/// there is nothing.
fn release_ms(
    subjects: &[LoadedSubject],
    verdict: &Verdict,
    fingerprint: &Fingerprint,
    charge: &Charge<'_>,
    returns: RefundScope,
) -> Option<u64> {
    let limits = charge.limits.iter().filter(|limit| returns.includes(limit));
    let ends = limits.map(|limit| {
        let stamp_ms = find(subjects, verdict, fingerprint, limit).stamp_ms;
        Receipt { stamp_ms, cost: charge.cost, holder: 0 }.release_ms(limit)
    });
    ends.max().filter(|_| charge.cost != 0)
}

fn loaded<'g>(subjects: &'g [LoadedSubject], fingerprint: &Fingerprint) -> &'g LoadedSubject {
    subjects.iter().find(|loaded| loaded.fingerprint == *fingerprint).expect("every subject is loaded")
}

fn guest_mut<'g>(subjects: &'g mut [LoadedSubject], fingerprint: &Fingerprint) -> &'g mut LoadedSubject {
    subjects.iter_mut().find(|loaded| loaded.fingerprint == *fingerprint).expect("every subject is loaded")
}
