//! The rules of a request that are enforced, or those that only look on: what each charges, and what of that can be given back.

use slidegate_core::Verdict;
use smallvec::SmallVec;

use super::answer::Applied;
use super::in_flight::split_charge;
use crate::permit::Refundable;
use slidegate_policy::{Hit, HitMode, Policy};
use slidegate_store::{Admission, Charge, Grants, RefundScope};

/// Rules, and the charges of each: one, or two where it also takes a place in flight.
#[derive(Debug)]
pub(super) struct Charges<'a> {
    pub(super) applied: SmallVec<[Applied; 2]>,
    pub(super) charges: SmallVec<[Charge<'a>; 2]>,
    /// What of each charge may be given back.
    pub(super) returns: SmallVec<[RefundScope; 2]>,
    /// Where the charges of each rule end.
    ends: SmallVec<[usize; 2]>,
    pub(super) cost: u64,
}

impl<'a> Charges<'a> {
    pub(super) fn of(policy: &'a Policy, hits: &'a [Hit<'a>], mode: HitMode, cost: u64) -> Self {
        let (applied, charges, returned) = (SmallVec::new(), SmallVec::new(), SmallVec::new());
        let mut charges_ = Self { applied, charges, returns: returned, ends: SmallVec::new(), cost };
        for hit in hits.iter().filter(|hit| hit.consults(mode)) {
            let rule = &policy.rules()[hit.rule];
            let limits = rule.limit_sets()[hit.limit_set].limits();
            let charge = Charge { space: rule.space(), key: &hit.key, limits, cost };
            charges_.applied.push(Applied::from(hit));
            charges_.charges.extend(split_charge(charge));
            charges_.returns.resize(charges_.charges.len(), returns(policy, Applied::from(hit)));
            charges_.ends.push(charges_.charges.len());
        }
        charges_
    }

    /// The charges of each rule, and what of them may be given back.
    pub(super) fn per_rule(&self) -> impl Iterator<Item = (&[Charge<'a>], &[RefundScope])> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        let spans = begins.zip(&self.ends);
        spans.map(|(begin, end)| (&self.charges[begin..*end], &self.returns[begin..*end]))
    }

    /// What an admission by all recorded, as far as it can be given back.
    pub(super) fn refundable_parts<'v>(
        &'v self,
        verdict: &'v Verdict,
        granted: &'v Grants,
    ) -> impl Iterator<Item = Refundable<'v>> {
        refundable_parts((&self.charges, &self.returns), verdict, granted)
    }

    /// What those recorded that admitted it, each by itself.
    pub(super) fn refundable_per_rule<'v>(
        &'v self,
        admissions: &'v [Admission],
    ) -> impl Iterator<Item = Refundable<'v>> {
        let each = self.per_rule().zip(admissions);
        each.flat_map(|(part, Admission { verdict, grants: granted })| {
            refundable_parts(part, verdict, granted)
        })
    }
}

fn refundable_parts<'v>(
    (charges, returns): (&'v [Charge<'v>], &'v [RefundScope]),
    verdict: &'v Verdict,
    granted: &'v Grants,
) -> impl Iterator<Item = Refundable<'v>> {
    let mut decisions = &*verdict.decisions;
    let each = charges.iter().zip(returns).enumerate();
    each.filter_map(move |(index, (charge, returns))| {
        // Where the store did not answer there are none.
        let (own, rest) = decisions.split_at_checked(charge.limits.len())?;
        decisions = rest;
        Some(Refundable { charge, decisions: own, returns: *returns, grant: granted.of(index)? })
    })
}

/// What a rule gives back: everything if it says so, and places in flight always.
#[inline]
pub(super) fn returns(policy: &Policy, applied: Applied) -> RefundScope {
    let rule = &policy.rules()[applied.rule];
    let has_places = || rule.limit_sets()[applied.terms].limits().iter().any(|limit| limit.needs_id());
    if rule.refundable() {
        RefundScope::Everything
    } else if has_places() {
        RefundScope::Places
    } else {
        RefundScope::Nothing
    }
}
