//! Charges of items, and the part of each that can be given back.

use slidegate_core::Limit;
use smallvec::SmallVec;

use super::in_flight::split_charge;
use super::item::{ItemLimits, MatchedItem, is_blocked};
use crate::permit::Refundable;
use slidegate_policy::{Hit, HitMode, LimitSet, Policy, RequestError, Rule};
use slidegate_store::{Admission, Charge, ChargeRequest, MAX_LIMITS, RefundScope, ReserveRequest, Space};

/// Whether an admission opens permits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Permits {
    Open,
    None,
}

/// Charges as a store takes them, each with its refund scope. A rule has one, or two where it also
/// takes a slot in flight.
#[derive(Default, Debug)]
pub(super) struct Charges<'a> {
    pub(super) charges: SmallVec<[Charge<'a>; 2]>,
    pub(super) scopes: SmallVec<[RefundScope; 2]>,
    is_refundable: bool,
    has_slots: bool,
}

impl<'a> Charges<'a> {
    /// Charges of all enforced limits. If an item is blocked the others are peeks, so that what is
    /// reported of them is true.
    #[inline(always)]
    pub(super) fn enforced(
        policy: &'a Policy,
        items: &'a [MatchedItem<'_>],
        ad_hoc: Space,
        permits: Permits,
    ) -> Self {
        let is_blocked = is_blocked(items);
        let mut all = Self::default();
        for item in items {
            let cost = if is_blocked { 0 } else { item.cost };
            if let ItemLimits::AdHoc(key, limit) = item.limits {
                let limits = std::slice::from_ref(limit);
                all.push(Charge { space: ad_hoc, key, limits, cost }, RefundScope::Nothing);
            }
            for hit in item.hits_in(HitMode::Enforce) {
                all.push(charge(policy, hit, cost), refund_scope(policy, hit, permits));
            }
        }
        all
    }

    /// Charges of one rule.
    pub(super) fn of_hit(policy: &'a Policy, hit: &'a Hit<'_>, cost: u64, permits: Permits) -> Self {
        let mut all = Self::default();
        all.push(charge(policy, hit, cost), refund_scope(policy, hit, permits));
        all
    }

    #[inline]
    fn push(&mut self, charge: Charge<'a>, scope: RefundScope) {
        let has_slots = charge.limits.iter().any(Limit::needs_id);
        self.is_refundable |= scope != RefundScope::Nothing;
        self.has_slots |= has_slots;
        if has_slots && charge.cost > 1 {
            self.charges.extend(split_charge(charge));
            self.scopes.resize(self.charges.len(), scope);
        } else {
            self.charges.push(charge);
            self.scopes.push(scope);
        }
    }

    /// Request of these charges.
    #[inline]
    pub(super) fn request(&self, now_ms: u64, id: Option<u64>) -> ReserveRequest<'_> {
        let charge = ChargeRequest { now_ms, holder: id.unwrap_or(0), charges: &self.charges };
        ReserveRequest { charge, refunds: &self.scopes }
    }

    /// Checks the number of limits of a batch; the policy checks that of a single request.
    pub(super) fn check_bound(&self) -> Result<(), RequestError> {
        let limits = self.charges.iter().map(|charge| charge.limits.len()).sum();
        if limits > MAX_LIMITS { Err(RequestError::TooManyLimits { limits }) } else { Ok(()) }
    }

    /// Whether a permit may be opened.
    #[inline]
    pub(super) fn is_refundable(&self) -> bool {
        self.is_refundable
    }

    /// Whether the request needs an id: for a permit, or for a slot in flight.
    #[inline]
    pub(super) fn needs_id(&self) -> bool {
        self.is_refundable || self.has_slots
    }

    /// The parts of an admission that can be given back.
    pub(super) fn refundable_parts<'v>(
        &'v self,
        admission: &'v Admission,
    ) -> impl Iterator<Item = Refundable<'v>> {
        let mut decisions = &*admission.verdict.decisions;
        let each = self.charges.iter().zip(&self.scopes).enumerate();
        each.filter_map(move |(index, (charge, scope))| {
            // A store that did not answer has none.
            let (own, rest) = decisions.split_at_checked(charge.limits.len())?;
            decisions = rest;
            Some(Refundable { charge, decisions: own, returns: *scope, grant: admission.grants.of(index)? })
        })
    }
}

/// Charge of a rule that applies.
#[inline]
pub(super) fn charge<'c>(policy: &'c Policy, hit: &'c Hit<'_>, cost: u64) -> Charge<'c> {
    let rule = &policy.rules()[hit.rule];
    Charge { space: rule.space(), key: &hit.key, limits: rule.limit_sets()[hit.limit_set].limits(), cost }
}

/// Refund scope of a hit, if it opens a permit.
#[inline]
pub(super) fn refund_scope(policy: &Policy, hit: &Hit<'_>, permits: Permits) -> RefundScope {
    let rule = &policy.rules()[hit.rule];
    match permits {
        Permits::None => RefundScope::Nothing,
        Permits::Open => refund_scope_of(rule, &rule.limit_sets()[hit.limit_set]),
    }
}

/// Refund scope of a limit set: everything if its rule is `refundable`, slots in flight always.
#[inline]
pub(super) fn refund_scope_of(rule: &Rule, set: &LimitSet) -> RefundScope {
    if rule.refundable() {
        RefundScope::Everything
    } else if set.limits().iter().any(Limit::needs_id) {
        RefundScope::InFlight
    } else {
        RefundScope::Nothing
    }
}
