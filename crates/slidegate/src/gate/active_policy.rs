//! Policy in force: its rules, and where telemetry counts what they decide.

use std::ops::Deref;

use crate::telemetry::RuleSeries;
use slidegate_policy::Policy;

/// Policy that a [`Gate`](super::Gate) applies.
#[derive(Debug)]
pub struct ActivePolicy {
    policy: Policy,
    /// Counters of every rule, in the order of the policy; empty without telemetry.
    series: Box<[RuleSeries]>,
}

impl ActivePolicy {
    pub(crate) fn new(policy: Policy, series: Box<[RuleSeries]>) -> Self {
        Self { policy, series }
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
