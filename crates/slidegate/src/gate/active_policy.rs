//! Policy in force: its rules, and where telemetry counts what they decide.

use std::ops::Deref;
#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use ::http::HeaderValue;

use crate::telemetry::RuleSeries;
use slidegate_policy::Policy;

/// Policy that a [`Gate`](super::Gate) applies.
#[derive(Debug)]
pub struct ActivePolicy {
    policy: Policy,
    /// Counters of every rule, in the order of the policy; empty without telemetry.
    series: Box<[RuleSeries]>,
    /// Header fields of every limit set of every rule.
    #[cfg(feature = "http")]
    fields: Box<[Box<[SetFields]>]>,
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
        #[cfg(feature = "http")]
        let fields = policy
            .rules()
            .iter()
            .map(|rule| rule.limit_sets().iter().map(|_| SetFields::default()).collect());
        Self {
            #[cfg(feature = "http")]
            fields: fields.collect(),
            policy,
            series,
        }
    }

    /// Header fields of a limit set.
    #[cfg(feature = "http")]
    #[inline]
    pub(super) fn set_fields(&self, rule: usize, limit_set: usize) -> &SetFields {
        &self.fields[rule][limit_set]
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
