//! The rules of a request that are enforced, or those that only look on: what each charges, and what of that can be given back.

use slidegate_core::{Decision, Verdict};
use smallvec::SmallVec;

use super::answer::Applied;
use crate::permit::{Refundable, Returned};
use crate::policy::{Hit, HitMode, Policy};
use crate::store::Charge;

/// Rules, and the charge of each.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) applied: SmallVec<[Applied; 2]>,
    pub(super) charges: SmallVec<[Charge<'a>; 2]>,
    pub(super) cost: u64,
}

impl<'a> Asked<'a> {
    pub(super) fn of(policy: &'a Policy, hits: &'a [Hit<'a>], mode: HitMode, cost: u64) -> Self {
        let mut asked = Self { applied: SmallVec::new(), charges: SmallVec::new(), cost };
        for hit in hits.iter().filter(|hit| hit.asks(mode)) {
            let rule = &policy.rules()[hit.rule];
            let limits = rule.terms()[hit.terms].limits();
            asked.applied.push(Applied::from(hit));
            asked.charges.push(Charge { space: rule.space(), key: &hit.key, limits, cost });
        }
        asked
    }

    /// What an admission by all recorded, as far as it can be given back.
    pub(super) fn recorded<'v>(
        &'v self,
        policy: &Policy,
        verdict: &'v Verdict,
    ) -> impl Iterator<Item = Refundable<'v>> {
        let mut decisions = &*verdict.decisions;
        let each = self.charges.iter().map(move |charge| {
            let (own, rest) = decisions.split_at(charge.limits.len());
            decisions = rest;
            own
        });
        self.given_back(policy, each)
    }

    /// What those recorded that admitted it, each by itself.
    pub(super) fn recorded_apart<'v>(
        &'v self,
        policy: &Policy,
        verdicts: &'v [Verdict],
    ) -> impl Iterator<Item = Refundable<'v>> {
        // One that refused recorded nothing.
        let each =
            verdicts.iter().map(|verdict| if verdict.is_allowed() { &*verdict.decisions } else { &[] });
        self.given_back(policy, each)
    }

    fn given_back<'v>(
        &'v self,
        policy: &Policy,
        decisions: impl Iterator<Item = &'v [Decision]>,
    ) -> impl Iterator<Item = Refundable<'v>> {
        let each = self.applied.iter().zip(&self.charges).zip(decisions);
        each.filter_map(|((applied, charge), decisions)| {
            Some(Refundable { charge, decisions, of: returned(policy, *applied)? })
        })
    }
}

/// What a rule gives back: everything if it says so, and places in flight always.
#[inline]
pub(super) fn returned(policy: &Policy, applied: Applied) -> Option<Returned> {
    let rule = &policy.rules()[applied.rule];
    if rule.refundable() {
        Some(Returned::All)
    } else {
        let places = rule.terms()[applied.terms].limits().iter().any(|limit| limit.needs_id());
        places.then_some(Returned::InFlight)
    }
}
