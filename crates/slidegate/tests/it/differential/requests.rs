//! Requests that run on the core and on the store.

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{Grants, Key, Limit, RefundScope, ReserveRequest, Space, Verdict};
use slidegate_core::{History, LimitAttempt, MAX_TIME_MS, State, decide, give_back};

use super::{Both, KEYS, Way};
use crate::drivers::Driver;

/// Operation of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Decide,
    GiveBack,
}

impl<S: Driver> Both<S> {
    pub(super) fn check(
        &mut self,
        key: usize,
        cost: u64,
        way: Way,
        scope: RefundScope,
    ) -> Result<(), String> {
        let subjects = subjects(key, way);
        let (expected, granted) = self.run(Verb::Decide, &subjects, cost, (way, scope))?;
        self.permit(&subjects, cost, (way, scope), (&expected, granted))
    }

    pub(super) fn give_back(&mut self, key: usize, units: u64, way: Way) -> Result<(), String> {
        let subjects = subjects(key, way);
        let _ = self.run(Verb::GiveBack, &subjects, units, (way, RefundScope::Nothing))?;
        // A store may drop an empty state, so that its permits are void, or not: both are right.
        for key in subjects {
            let states = &self.keys[key].states;
            let is_empty = |index: &usize| {
                states[*index].clone().standing(&self.limits[*index], self.now_ms).reset_after_ms == 0
            };
            if self.in_force.iter().any(is_empty) {
                self.retire_permits(|part| part.key == key);
            }
        }
        Ok(())
    }

    /// Runs a request on the core and the store, which have to answer the same.
    pub(super) fn run(
        &mut self,
        verb: Verb,
        subjects: &[usize],
        cost: u64,
        (way, scope): (Way, RefundScope),
    ) -> Result<(Verdict, Grants), String> {
        self.ids += 1;
        let (mut got, granted) = self.run_on_store(verb, subjects, cost, (way, scope));
        // Later times count as the last one, whichever of them the verdict names.
        got.decided_at_ms = got.decided_at_ms.min(MAX_TIME_MS);
        let mut expected = self.run_on_core(verb, subjects, cost);
        if way == Way::Twice {
            let both = expected.decisions.iter().chain(expected.decisions.iter()).copied();
            expected.decisions = both.collect();
        }
        if got != expected {
            let at_ms = self.now_ms;
            return Err(format!("{verb:?} {way:?} at {at_ms}\n  expected {expected:?}\n  answered {got:?}"));
        }
        Ok((expected, granted))
    }

    /// Charges of a request: keys, limits and costs.
    pub(super) fn charges(&self, subjects: &[usize], cost: u64, way: Way) -> Vec<(usize, Vec<Limit>, u64)> {
        let limits = self.limits_in_force();
        let parts = if way == Way::Apart { 1 } else { limits.len() };
        let costs = if way == Way::Twice { vec![cost / 3, cost - cost / 3] } else { vec![cost] };
        let each = subjects.iter().flat_map(|key| costs.iter().map(move |cost| (*key, *cost)));
        let charges = each.flat_map(|(key, cost)| {
            limits.chunks(parts).map(move |limits| (key, limits.to_vec(), cost)).collect::<Vec<_>>()
        });
        charges.collect()
    }

    pub(super) fn run_on_store(
        &self,
        verb: Verb,
        subjects: &[usize],
        cost: u64,
        (way, scope): (Way, RefundScope),
    ) -> (Verdict, Grants) {
        let name = self.keys[subjects[0]].name.as_str();
        if way == Way::Limiter
            && scope == RefundScope::Nothing
            && let Some(verdict) = self.store.limiter(&self.limits_in_force(), name, cost, self.now_ms)
        {
            return (verdict, Grants::Nothing);
        }
        let keys: Vec<Key<'_>> = self.keys.iter().map(|plain| plain.name.as_str().into()).collect();
        let parts = self.charges(subjects, cost, way);
        let charges = parts.iter().map(|(key, limits, cost)| Charge {
            space: Space::named(""),
            key: &keys[*key],
            limits,
            cost: *cost,
        });
        let charges: Vec<Charge<'_>> = charges.collect();
        let call = ChargeRequest { now_ms: self.now_ms, holder: self.ids, charges: &charges };
        match verb {
            Verb::GiveBack => (self.store.give_back(&call), Grants::Nothing),
            Verb::Decide if scope == RefundScope::Nothing => (self.store.decide(&call), Grants::Nothing),
            Verb::Decide => {
                let admission = self
                    .store
                    .reserve(&ReserveRequest { charge: call, refunds: &vec![scope; charges.len()] });
                (admission.verdict, admission.grants)
            }
        }
    }

    pub(super) fn run_on_core(&mut self, verb: Verb, subjects: &[usize], cost: u64) -> Verdict {
        let (limits, holder) = (self.limits_in_force(), self.ids);
        let of_key = |key: &usize| -> Vec<State> {
            self.in_force.iter().map(|index| self.keys[*key].states[*index].clone()).collect()
        };
        let mut states: Vec<Vec<State>> = subjects.iter().map(of_key).collect();
        let pairs = states.iter_mut().flat_map(|states| limits.iter().zip(states));
        let mut attempts: Vec<LimitAttempt<'_>> =
            pairs.map(|(limit, state)| LimitAttempt { limit, cost, holder, state }).collect();
        let verdict = match verb {
            Verb::Decide => decide(&mut attempts, self.now_ms),
            Verb::GiveBack => give_back(&mut attempts, self.now_ms),
        };
        for (key, states) in subjects.iter().zip(states) {
            for (index, state) in self.in_force.iter().zip(states) {
                self.keys[*key].states[*index] = state;
            }
        }
        verdict
    }
}

/// Keys of a request.
fn subjects(key: usize, way: Way) -> Vec<usize> {
    if way == Way::Pair { vec![key, (key + 1) % KEYS] } else { vec![key] }
}
