//! Permits: opened with what a request is charged, and closed by the one settlement that each is good for.

use slidegate_core::{Grant, Receipt, Verdict};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::multi_subject::{Guest, decide_guests, find, judge_guests, only_looks};
use super::shard::Shard;
use super::subject::Subject;
use crate::fingerprint::Fingerprint;
use crate::{Admission, Charge, Grants, RefundScope, ReserveRequest, SettleOutcome, Settlement};

/// A subject of a settlement, out of its shard.
struct Found {
    shard: usize,
    fingerprint: Fingerprint,
    subject: Subject,
}

impl Memory {
    /// [`Store::reserve`](crate::Store::reserve) without waiting, which cannot fail.
    pub fn reserve_now(&self, request: &ReserveRequest<'_>) -> Admission {
        let call = &request.charge;
        let returns = |charge: usize| request.refund_scope(charge);
        if only_looks(call) || request.refunds.iter().all(|returns| *returns == RefundScope::Nothing) {
            return self.decide_now(call).into();
        }
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            call.charges.iter().map(|charge| self.fingerprints.of(charge.space, charge.key)).collect();
        let permits_of = |guest: &Guest| {
            let charges = (0..call.charges.len()).filter(|&charge| fingerprints[charge] == guest.fingerprint);
            charges.filter(|&charge| returns(charge) != RefundScope::Nothing).count()
        };
        let mut granted = Grants::Nothing;
        let verdict = self.host(call, |guests, hall| {
            guests.iter_mut().for_each(|guest| guest.subject.ledger.prune(call.now_ms));
            let numbered = |charge: usize| returns(charge).is_numbered(call.charges[charge].limits);
            let has_room = |charge: usize| !guest(guests, &fingerprints[charge]).subject.ledger.is_full();
            if (0..call.charges.len()).any(|charge| numbered(charge) && !has_room(charge)) {
                granted = Grants::TooManyOpen;
                return judge_guests(guests, call);
            }
            // Where nothing is written, nothing is needed.
            if judge_guests(guests, call).is_allowed() {
                self.set_aside_all(call, guests, hall, permits_of);
            }
            let verdict = decide_guests(guests, call);
            if verdict.is_allowed() {
                let grants = call.charges.iter().zip(&fingerprints).enumerate();
                let grants = grants.map(|(index, (charge, fingerprint))| {
                    let until_ms = release_ms(guests, &verdict, fingerprint, charge, returns(index))?;
                    let ledger = &mut guest_mut(guests, fingerprint).subject.ledger;
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
        self.settle_each(settlement, Subject::has_permits, |index, subject| {
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

    /// Replaces what another store recorded under a permit, as far as it was recorded here too: that store has the ledger.
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
        may_change: impl Fn(&Subject) -> bool,
        mut settle: impl FnMut(usize, Option<&mut Subject>),
    ) {
        let Settlement { now_ms, ref subjects, .. } = *settlement;
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            subjects.iter().map(|charged| self.fingerprints.of(charged.space, &charged.key)).collect();
        let mut hall = self.lock(&fingerprints);
        let mut found: SmallVec<[Found; 2]> = SmallVec::new();
        for (index, fingerprint) in fingerprints.iter().enumerate() {
            let known = found.iter().position(|other| other.fingerprint == *fingerprint);
            let at = known.or_else(|| {
                let shard = self.shard_of(fingerprint);
                let mut subject = hall.shard(shard).take_out(&self.registry, *fingerprint)?;
                if may_change(&subject) {
                    self.set_aside_settled(hall.shard(shard), &mut subject, settlement);
                }
                found.push(Found { shard, fingerprint: *fingerprint, subject });
                Some(found.len() - 1)
            });
            settle(index, at.map(|at| &mut found[at].subject));
        }
        for Found { shard, fingerprint, subject } in found {
            hall.shard(shard).put_back(&self.registry, fingerprint, (subject, None), now_ms);
        }
    }
}

impl Memory {
    /// Makes room for what a settlement may take. Where there is none it is written all the same: what was used must not be dropped. It
    /// then exceeds the bound by no more than one log does whose counts outgrow their entries, until something is forgotten.
    fn set_aside_settled(&self, shard: &mut Shard, subject: &mut Subject, settlement: &Settlement<'_>) {
        let footprint = Footprint::SLOT.with_heap(subject.settled_bytes(settlement.cost));
        if shard.set_aside(&self.registry, subject, footprint, settlement.now_ms).is_err() {
            // No request was refused.
            shard.stats.refused_for_room -= 1;
        }
    }
}

fn grant(ledger: &mut slidegate_core::Ledger, id: u64, until_ms: u64, numbered: bool) -> Grant {
    if numbered { ledger.grant(id, until_ms) } else { ledger.grant_places(id, until_ms) }
}

/// When all that a charge recorded, as far as it may be given back, has left its windows; `None` if there is nothing.
fn release_ms(
    guests: &[Guest],
    verdict: &Verdict,
    fingerprint: &Fingerprint,
    charge: &Charge<'_>,
    returns: RefundScope,
) -> Option<u64> {
    let limits = charge.limits.iter().filter(|limit| returns.includes(limit));
    let ends = limits.map(|limit| {
        let stamp_ms = find(guests, verdict, fingerprint, limit).stamp_ms;
        Receipt { stamp_ms, cost: charge.cost, holder: 0 }.release_ms(limit)
    });
    ends.max().filter(|_| charge.cost != 0)
}

fn guest<'g>(guests: &'g [Guest], fingerprint: &Fingerprint) -> &'g Guest {
    guests.iter().find(|guest| guest.fingerprint == *fingerprint).expect("every subject was invited")
}

fn guest_mut<'g>(guests: &'g mut [Guest], fingerprint: &Fingerprint) -> &'g mut Guest {
    guests.iter_mut().find(|guest| guest.fingerprint == *fingerprint).expect("every subject was invited")
}
