//! Requests that rules skip because they lack an attribute of the key.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;
use slidegate_policy::Policy;

/// Requests that a rule skipped since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skips {
    /// The rule.
    pub rule: Arc<str>,
    /// Number of requests without an attribute of its key.
    pub requests: u64,
}

/// Counter of skipped requests of one rule.
#[derive(Debug)]
pub(super) struct SkipCounter(Striped<1>);

impl SkipCounter {
    pub(super) fn record(&self) {
        self.0.add(ThreadStripe::here(), 0);
    }
}

/// Counters of all rules with a key, in the order of the policy.
#[derive(Default, Debug)]
pub(super) struct SkipCounters(Mutex<Vec<(Arc<str>, Arc<SkipCounter>)>>);

impl SkipCounters {
    /// Assigns counters to the rules of a policy, by name. Counts of removed rules are dropped.
    pub(super) fn attach(&self, policy: &Policy) -> Vec<Option<Arc<SkipCounter>>> {
        let mut counters = self.0.lock();
        let mut before: HashMap<_, _> = counters.drain(..).collect();
        let each = policy.rules().iter().map(|rule| {
            let counter = rule
                .has_key()
                .then(|| before.remove(rule.name()).unwrap_or_else(|| Arc::new(SkipCounter(Striped::new()))));
            counters.extend(counter.clone().map(|counter| (rule.name().into(), counter)));
            counter
        });
        each.collect()
    }

    /// Rules that have skipped requests.
    pub(super) fn list(&self) -> Vec<Skips> {
        let counters = self.0.lock();
        let all = counters.iter().map(|(rule, counter)| {
            let [requests] = counter.0.sums();
            Skips { rule: Arc::clone(rule), requests }
        });
        all.filter(|skips| skips.requests > 0).collect()
    }
}
