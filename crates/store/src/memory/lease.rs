//! Leases of logs. A log of which parts are on lease is on the heap.

use slidegate_core::{
    LeaseClose, LeaseGrant, LeaseReply, LeaseRequest, Prepayment, State, Verdict, decide_prepaid,
};

use super::Memory;
use super::multi_subject::{LoadedSubject, decide_subjects_by, is_peek};
use super::subject::SubjectState;
use crate::{Charge, ChargeRequest, LeaseSubject};

impl Memory {
    /// [`LeaseStore::lease`](crate::LeaseStore::lease) without waiting, which cannot fail. Without
    /// memory for the row the node is granted nothing, and nothing is recorded.
    pub fn lease_now(&self, subject: &LeaseSubject<'_>, request: &LeaseRequest, now_ms: u64) -> LeaseReply {
        let LeaseRequest { sequence, .. } = *request;
        let nothing = LeaseReply::Grant(LeaseGrant { sequence, limit: 0, free: 0, epoch: 0, at_ms: now_ms });
        let lease = |state: &mut State| state.lease(subject.limit(), request, now_ms);
        self.with_lease(subject, now_ms, lease).unwrap_or(nothing)
    }

    /// [`LeaseStore::close_lease`](crate::LeaseStore::close_lease) without waiting, which cannot
    /// fail.
    pub fn close_lease_now(&self, subject: &LeaseSubject<'_>, close: &LeaseClose, now_ms: u64) -> bool {
        let close = |state: &mut State| state.close_lease(subject.limit(), close, now_ms);
        self.with_lease(subject, now_ms, close).unwrap_or(true)
    }

    /// Changes the state of a subject under its limit. `None`, and nothing changed, if there is no
    /// memory for it.
    fn with_lease<T>(
        &self,
        subject: &LeaseSubject<'_>,
        now_ms: u64,
        change: impl FnOnce(&mut State) -> Option<T>,
    ) -> Option<T> {
        let limits = [*subject.limit()];
        let charges = [Charge { space: subject.space(), key: subject.key(), limits: &limits, cost: 0 }];
        let call = ChargeRequest { now_ms, holder: 0, charges: &charges };
        let mut result = None;
        let _ = self.with_subjects(&call, |subjects, guards| {
            let loaded = &mut subjects[0];
            let before = loaded.subject.clone();
            result = change(&mut loaded.subject.limit_states[0].state);
            let footprint = loaded.subject.footprint(loaded.subject.budgeted_layout(&self.interner));
            let shard = guards.shard(loaded.shard);
            if shard.reserve_memory(&self.interner, &mut loaded.subject, footprint, now_ms).is_err() {
                loaded.subject = SubjectState { budgeted: loaded.subject.budgeted, ..before };
                result = None;
            }
            decide_subjects_by(subjects, &call, slidegate_core::decide)
        });
        result
    }

    /// [`LeaseStore::decide_prepaid`](crate::LeaseStore::decide_prepaid) without waiting, which
    /// cannot fail.
    pub fn decide_prepaid_now(
        &self,
        call: &ChargeRequest<'_>,
        prepayments: &[Option<Prepayment>],
    ) -> Verdict {
        self.with_subjects(call, |subjects, guards| {
            if !is_peek(call) {
                self.reserve_memory_for_all(call, subjects, guards, |_| 0);
            }
            let prepayments = self.prepayments(call, subjects, prepayments);
            decide_subjects_by(subjects, call, |attempts, now_ms| {
                decide_prepaid(attempts, &prepayments, now_ms)
            })
        })
    }

    /// Prepayments in the order of the limits of the subjects, from those for every limit of every
    /// charge. A limit of several charges has the first.
    fn prepayments(
        &self,
        call: &ChargeRequest<'_>,
        subjects: &[LoadedSubject],
        of_limits: &[Option<Prepayment>],
    ) -> Vec<Option<Prepayment>> {
        let mut rest = of_limits.iter().copied();
        let mut all = vec![None; subjects.iter().map(|loaded| loaded.limits.len()).sum()];
        for charge in call.charges {
            let fingerprint = self.fingerprints.of(charge.space, charge.key);
            for limit in charge.limits {
                let prepayment = rest.next().flatten();
                let of_loaded = subjects.iter().flat_map(|loaded| {
                    loaded.limits.iter().map(move |(limit, _)| (loaded.fingerprint, limit.id()))
                });
                let index = of_loaded.zip(&mut all).find(|(id, _)| *id == (fingerprint, limit.id()));
                if let Some((_, existing)) = index {
                    *existing = existing.or(prepayment);
                }
            }
        }
        all
    }
}
