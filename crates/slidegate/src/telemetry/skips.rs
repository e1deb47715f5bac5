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
    /// How many lacked an attribute of its key.
    pub requests: u64,
}

/// Counter of them for one rule.
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
    /// Gives every rule its counter: the one of the rule of that name, if there was one. Counts of rules that are gone are dropped.
    pub(super) fn attach(&self, policy: &Policy) -> Vec<Option<Arc<SkipCounter>>> {
        let mut tallies = self.0.lock();
        let mut before: HashMap<_, _> = tallies.drain(..).collect();
        let each = policy.rules().iter().map(|rule| {
            let tally = rule
                .has_key()
                .then(|| before.remove(rule.name()).unwrap_or_else(|| Arc::new(SkipCounter(Striped::new()))));
            tallies.extend(tally.clone().map(|tally| (rule.name().into(), tally)));
            tally
        });
        each.collect()
    }

    /// The rules that have skipped any.
    pub(super) fn list(&self) -> Vec<Skips> {
        let tallies = self.0.lock();
        let all = tallies.iter().map(|(rule, tally)| {
            let [requests] = tally.0.sums();
            Skips { rule: Arc::clone(rule), requests }
        });
        all.filter(|skips| skips.requests > 0).collect()
    }
}
