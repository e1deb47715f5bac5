//! Requests that lack an attribute of a rule's key and share one subject (`missing: shared`).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::striped::Striped;
use super::thread_stripe::ThreadStripe;
use slidegate_policy::Rule;

/// Requests without the key of a rule, since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeylessRequests {
    /// The rule.
    pub rule: Arc<str>,
    /// Its key, as in the policy: `api_key`, or `org, api_key|ip`. The requests lack a part of it.
    pub key: Arc<str>,
    /// Number of requests that shared one subject.
    pub requests: u64,
}

/// Counter of requests without the key of one rule. Logs the first.
pub(super) struct KeylessCounter {
    rule: Arc<str>,
    key: Arc<str>,
    requests: Striped<1>,
    is_logged: AtomicBool,
}

impl KeylessCounter {
    /// Counter of a rule with `missing: shared`; `None` for others. Continues the counts of a rule
    /// with the same name and key.
    pub(super) fn of(rule: &Rule, before: &HashMap<Arc<str>, Arc<Self>>) -> Option<Arc<Self>> {
        let key = rule.shared_key()?;
        let existing = before.get(rule.name()).filter(|counter| *counter.key == *key).cloned();
        let new = || Self {
            rule: rule.name().into(),
            key: key.into(),
            requests: Striped::new(),
            is_logged: AtomicBool::new(false),
        };
        Some(existing.unwrap_or_else(|| Arc::new(new())))
    }

    pub(super) fn rule(&self) -> &Arc<str> {
        &self.rule
    }

    pub(super) fn record(&self) {
        self.requests.add(ThreadStripe::here(), 0);
        if !self.is_logged.load(Ordering::Relaxed) && !self.is_logged.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                rule = &*self.rule,
                "a request without `{}`: all such requests share one subject, and one client can use up the limits of all; \
                 set `missing` to `deny` or `skip`, or send the attribute",
                self.key
            );
        }
    }

    pub(super) fn snapshot(&self) -> KeylessRequests {
        let [requests] = self.requests.sums();
        KeylessRequests { rule: Arc::clone(&self.rule), key: Arc::clone(&self.key), requests }
    }
}

impl fmt::Debug for KeylessCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}
