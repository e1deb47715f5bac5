//! Requests that touch several subjects: every shard is locked, in order, before anything is looked at.

use slidegate_core::{Attempt, Decision, Decisions, Limit, LimitAttempt, Verdict, decide, evaluate};
use smallvec::SmallVec;

use super::Memory;
use super::budget::Footprint;
use super::eviction::NoRoom;
use super::shard::{Shard, refuse};
use super::subject::{Subject, Tracked};
use crate::fingerprint::Fingerprint;
use crate::sync::MutexGuard;
use crate::{ChargeRequest, stricter};

/// One subject of the request, out of its shard while the request is decided.
pub(super) struct Guest {
    pub(super) fingerprint: Fingerprint,
    pub(super) shard: usize,
    pub(super) subject: Subject,
    /// The subject as it was, if that is small.
    pub(super) original: Option<Subject>,
    /// The limits that it had.
    terms: SmallVec<[Limit; 1]>,
    /// Its limits, each with the cost of all the charges on it.
    pub(super) limits: SmallVec<[(Limit, u64); 4]>,
    /// Whether there is memory for what may be charged.
    room: Result<(), NoRoom>,
}

impl Guest {
    /// The most that it is charged under one of its limits.
    pub(super) fn cost(&self) -> u64 {
        self.limits.iter().map(|(_, cost)| *cost).max().unwrap_or(0)
    }

    /// Puts the states of its limits first.
    pub(super) fn line_up(&mut self) {
        let limits: SmallVec<[Limit; 4]> = self.limits.iter().map(|(limit, _)| *limit).collect();
        self.subject.line_up(&limits);
    }

    /// What is asked of its limits, which are lined up.
    pub(super) fn attempts(&mut self, holder: u64) -> SmallVec<[LimitAttempt<'_>; 4]> {
        let asked = self.limits.iter().zip(&mut self.subject.tracked);
        asked
            .map(|((limit, cost), Tracked { state, .. })| LimitAttempt { limit, cost: *cost, holder, state })
            .collect()
    }
}

/// The shards of one request, locked in order.
pub(super) struct Hall<'a>(SmallVec<[(usize, MutexGuard<'a, Shard>); 4]>);

impl Hall<'_> {
    pub(super) fn shard(&mut self, index: usize) -> &mut Shard {
        let place = self.0.binary_search_by_key(&index, |(index, _)| *index);
        &mut self.0[place.expect("every shard of the request is locked")].1
    }
}

impl Memory {
    pub(super) fn lock(&self, fingerprints: &[Fingerprint]) -> Hall<'_> {
        let mut order: SmallVec<[usize; 4]> = fingerprints.iter().map(|f| self.shard_of(f)).collect();
        order.sort_unstable();
        order.dedup();
        Hall(order.into_iter().map(|index| (index, self.shards[index].lock())).collect())
    }

    pub(super) fn decide_several(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.host(call, |guests, hall| {
            // Who only looks leaves nothing behind.
            if !only_looks(call) {
                self.set_aside_all(call, guests, hall, |_| 0);
            }
            decide_guests(guests, call)
        })
    }

    /// Has all subjects of a request at hand while it is answered, limit by limit of every guest; gives the answers in the order
    /// of the charges.
    pub(super) fn host(
        &self,
        call: &ChargeRequest<'_>,
        answer: impl FnOnce(&mut [Guest], &mut Hall<'_>) -> Verdict,
    ) -> Verdict {
        let fingerprints: SmallVec<[Fingerprint; 4]> =
            call.charges.iter().map(|charge| self.fingerprints.of(charge.space, charge.key)).collect();
        let mut hall = self.lock(&fingerprints);
        let mut guests = self.invite(call, &fingerprints, &mut hall);
        let verdict = answer(&mut guests, &mut hall);
        let asked = call.charges.iter().zip(&fingerprints);
        let asked = asked.flat_map(|(charge, f)| charge.limits.iter().map(move |limit| (f, limit)));
        let decisions: Decisions = asked.map(|(f, limit)| find(&guests, &verdict, f, limit)).collect();
        for mut guest in guests {
            if guest.cost() == 0 {
                guest.subject.restore(&guest.terms);
            }
            let shard = hall.shard(guest.shard);
            let subject = (guest.subject, guest.original);
            shard.put_back(&self.registry, guest.fingerprint, subject, call.now_ms);
        }
        Verdict::new(verdict.decided_at_ms, decisions)
    }

    /// Takes every subject out of its shard, and sums the charges that meet on one limit.
    fn invite(
        &self,
        call: &ChargeRequest<'_>,
        fingerprints: &[Fingerprint],
        hall: &mut Hall<'_>,
    ) -> Vec<Guest> {
        let mut guests: Vec<Guest> = Vec::with_capacity(fingerprints.len());
        for (charge, fingerprint) in call.charges.iter().zip(fingerprints) {
            let known = guests.iter().position(|guest| guest.fingerprint == *fingerprint);
            let index = known.unwrap_or_else(|| {
                let shard = self.shard_of(fingerprint);
                let group = self.registry.group(charge.space);
                let subject = hall.shard(shard).take_out(&self.registry, *fingerprint);
                let subject = subject.unwrap_or_else(|| Subject::new(group));
                let (original, terms, limits) = (subject.small_copy(), subject.terms(), SmallVec::new());
                guests.push(Guest {
                    fingerprint: *fingerprint,
                    shard,
                    subject,
                    original,
                    terms,
                    limits,
                    room: Ok(()),
                });
                guests.len() - 1
            });
            for limit in charge.limits {
                let limits = &mut guests[index].limits;
                match limits.iter_mut().find(|(other, _)| other.id() == limit.id()) {
                    Some((known, cost)) => {
                        *cost = cost.saturating_add(charge.cost);
                        *known = stricter(known, limit);
                    }
                    None => limits.push((*limit, charge.cost)),
                }
            }
        }
        guests.iter_mut().for_each(Guest::line_up);
        guests
    }

    /// Sets memory aside for what may be charged, so that the next subject does not count on it too.
    pub(super) fn set_aside_all(
        &self,
        call: &ChargeRequest<'_>,
        guests: &mut [Guest],
        hall: &mut Hall<'_>,
        permits: impl Fn(&Guest) -> usize,
    ) {
        for guest in guests {
            let attempt = Attempt { now_ms: call.now_ms, cost: guest.cost(), holder: call.holder };
            let subject = &guest.subject;
            let footprint = match permits(guest) {
                0 => subject.footprint_after(&self.registry, attempt),
                permits => {
                    let bytes = subject.heap_bytes() + subject.growth() + subject.permit_bytes(permits);
                    Footprint::SLOT.with_heap(bytes)
                }
            };
            let shard = hall.shard(guest.shard);
            guest.room = shard.set_aside(&self.registry, &mut guest.subject, footprint, call.now_ms);
        }
    }
}

pub(super) fn decide_guests(guests: &mut [Guest], call: &ChargeRequest<'_>) -> Verdict {
    let ChargeRequest { now_ms, holder, .. } = *call;
    let room = guests.iter().find_map(|guest| guest.room.err());
    let bound = guests.iter_mut().find_map(|guest| guest.subject.check_bound(now_ms).err());
    let mut attempts: SmallVec<[LimitAttempt<'_>; 8]> =
        guests.iter_mut().flat_map(|guest| guest.attempts(holder)).collect();
    let verdict = match room.or(bound).filter(|_| !only_looks(call)) {
        None => decide(&mut attempts, now_ms),
        Some(no_room) => refuse(evaluate(&mut attempts, now_ms), no_room),
    };
    drop(attempts);
    for guest in guests {
        let cost = guest.cost();
        guest.subject.note(cost, verdict.is_allowed());
    }
    verdict
}

/// What all limits would say, without a charge.
pub(super) fn judge_guests(guests: &mut [Guest], call: &ChargeRequest<'_>) -> Verdict {
    let mut attempts: SmallVec<[LimitAttempt<'_>; 8]> =
        guests.iter_mut().flat_map(|guest| guest.attempts(call.holder)).collect();
    evaluate(&mut attempts, call.now_ms)
}

pub(super) fn only_looks(call: &ChargeRequest<'_>) -> bool {
    call.charges.iter().all(|charge| charge.cost == 0)
}

/// The decision on one limit of one subject.
pub(super) fn find(
    guests: &[Guest],
    verdict: &Verdict,
    fingerprint: &Fingerprint,
    limit: &Limit,
) -> Decision {
    let mut place = 0;
    for guest in guests {
        if guest.fingerprint == *fingerprint {
            let within = guest.limits.iter().position(|(other, _)| other.id() == limit.id());
            return verdict.decisions[place + within.expect("every limit was asked")];
        }
        place += guest.limits.len();
    }
    unreachable!("every subject was invited")
}
