//! Policy in force: its rules, and where telemetry counts what they decide.

use std::ops::Deref;
#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use ::http::HeaderValue;
use slidegate_core::Limit;

use super::charges::refund_scope_of;
use crate::telemetry::RuleSeries;
use slidegate_policy::{Hit, HitMode, LimitSet, Policy, Request, Rule};
use slidegate_store::RefundScope;
use slidegate_store::memory::PreparedLimits;

/// Policy that a [`Gate`](super::Gate) applies.
#[derive(Debug)]
pub struct ActivePolicy {
    policy: Policy,
    /// Counters of every rule, in the order of the policy; empty without telemetry.
    series: Box<[RuleSeries]>,
    /// Limit sets of every rule.
    sets: Box<[Box<[ActiveSet]>]>,
}

/// Limit set as memory decides by it.
#[derive(Debug)]
pub(super) struct ActiveSet {
    pub(super) limits: PreparedLimits<Box<[Limit]>>,
    /// What a permit of it returns.
    pub(super) refund_scope: RefundScope,
    /// Whether one of the limits counts slots in flight.
    has_slots: bool,
    #[cfg(feature = "http")]
    fields: SetFields,
}

impl ActiveSet {
    fn new(rule: &Rule, set: &LimitSet) -> Self {
        Self {
            limits: PreparedLimits::new(rule.space(), set.limits().into()),
            refund_scope: refund_scope_of(rule, set),
            has_slots: set.limits().iter().any(Limit::needs_id),
            #[cfg(feature = "http")]
            fields: SetFields::default(),
        }
    }

    /// Whether a request whose only hit is this one is decided by a single charge: it is enforced,
    /// and slots in flight need not be charged apart from the rest.
    #[inline]
    pub(super) fn decides(&self, hit: &Hit<'_>, request: &Request<'_>) -> bool {
        hit.consults(HitMode::Enforce) && !(self.has_slots && request.requested_cost() > 1)
    }
}

/// Header fields that all answers of one limit set share, once they were rendered.
#[cfg(feature = "http")]
#[derive(Default, Debug)]
pub(crate) struct SetFields {
    /// `RateLimit-Policy`.
    pub(crate) policy: OnceLock<HeaderValue>,
    /// `RateLimit-Limit`, of a set with one limit.
    pub(crate) limit: OnceLock<HeaderValue>,
}

impl ActivePolicy {
    pub(crate) fn new(policy: Policy, series: Box<[RuleSeries]>) -> Self {
        let sets_of = |rule: &Rule| rule.limit_sets().iter().map(|set| ActiveSet::new(rule, set)).collect();
        let sets = policy.rules().iter().map(sets_of).collect();
        Self { policy, series, sets }
    }

    /// Limit set of a hit.
    #[inline]
    pub(super) fn set_of(&self, hit: &Hit<'_>) -> &ActiveSet {
        &self.sets[hit.rule][hit.limit_set]
    }

    /// Header fields of a limit set.
    #[cfg(feature = "http")]
    #[inline]
    pub(super) fn set_fields(&self, rule: usize, limit_set: usize) -> &SetFields {
        &self.sets[rule][limit_set].fields
    }

    /// Counts a request that a rule skips because it lacks an attribute of the key.
    #[cold]
    pub(crate) fn record_skip(&self, rule: usize) {
        if let Some(series) = self.rule_series(rule) {
            series.record_skip();
        }
    }

    /// Counters of the rule at this index.
    #[inline]
    pub(crate) fn rule_series(&self, rule: usize) -> Option<&RuleSeries> {
        self.series.get(rule)
    }
}

impl Deref for ActivePolicy {
    type Target = Policy;

    #[inline]
    fn deref(&self) -> &Policy {
        &self.policy
    }
}
