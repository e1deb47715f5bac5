//! Series: the counts of every rule, limit and route.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::keyless::{KeylessCounter, KeylessRequests};
use super::rule_series::RuleSeries;
use super::skips::SkipCounter;
use super::striped::Striped;
use slidegate_policy::{Blocked, HitMode, KeyText, Policy};
use slidegate_store::Key;

/// Maximum number of series. Beyond it, decisions are counted under the rule [`OTHER`].
pub const MAX_SERIES: usize = 8_192;
/// Maximum number of routes of one rule. The others are counted under the route [`OTHER`].
pub const MAX_ROUTES: usize = 32;
/// Rule or route of everything without a series of its own.
pub const OTHER: &str = "(other)";
/// Rule of ad hoc limits.
pub const AD_HOC: &str = "(ad hoc)";

/// Counts of a limit of a rule on one route, since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// Rule; [`AD_HOC`] for ad hoc limits, [`OTHER`] for everything without a series of its own.
    pub rule: Arc<str>,
    /// Name of the limit in headers, as `login-5/min`; `(deny list)` or `(missing key)` for blocked
    /// requests.
    pub limit: Arc<str>,
    /// Template that matches the path; empty for rules without paths, and for requests that name a
    /// rule.
    pub route: Arc<str>,
    /// Counts in enforce mode.
    pub enforced: SeriesCounts,
    /// Counts in observe mode.
    pub observed: SeriesCounts,
}

/// Counts of a limit.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SeriesCounts {
    /// Charged requests.
    pub allowed: u64,
    /// Denied requests.
    pub denied: u64,
    /// Requests that fit, but were denied by another limit.
    pub uncharged: u64,
    /// Peeks, at a cost of 0.
    pub peeked: u64,
    /// Near misses among the allowed requests.
    pub near_misses: u64,
}

/// Text form of the key of an ad hoc limit. Its parts have no names; several are numbered.
pub(super) fn ad_hoc_subject(key: &Key<'_>) -> Vec<KeyText> {
    let text = |name: String, part| KeyText {
        attribute: name,
        value: Some(String::from_utf8_lossy(part).into_owned()),
    };
    match &key.parts().collect::<Vec<_>>()[..] {
        [part] => vec![text("key".to_owned(), part)],
        parts => (1_u32..).zip(parts).map(|(number, part)| text(format!("key{number}"), part)).collect(),
    }
}

/// Name in place of a limit for blocked requests.
pub(super) fn block_name(reason: Blocked) -> &'static str {
    match reason {
        Blocked::DenyList => "(deny list)",
        Blocked::MissingKey => "(missing key)",
    }
}

/// Outcome under one limit, in the order of the counters.
#[derive(Clone, Copy, Debug)]
pub(super) enum LimitOutcome {
    Allowed,
    Denied,
    Uncharged,
    Peeked,
    NearMiss,
}

const COUNTS: usize = 5;

/// Counters of a [`Series`].
pub(super) type SeriesCounters = Striped<{ 2 * COUNTS }>;

/// Index of a counter.
#[inline]
pub(super) fn counter(mode: HitMode, outcome: LimitOutcome) -> usize {
    let first = match mode {
        HitMode::Enforce => 0,
        HitMode::Observe => COUNTS,
    };
    first + outcome as usize
}

/// Name of a series: rule, limit and route.
pub(super) type SeriesName = [Arc<str>; 3];

/// All series.
#[derive(Debug)]
pub(super) struct SeriesTable(Mutex<SeriesIndex>);

#[derive(Debug)]
struct SeriesIndex {
    by_name: HashMap<SeriesName, Arc<SeriesCounters>>,
    /// Names in the order of the policy, then those of removed rules.
    order: Vec<SeriesName>,
    /// Series of ad hoc limits, and of everything without a series of its own.
    last: [(SeriesName, Arc<SeriesCounters>); 2],
    /// Counters of rules of the policy, in its order.
    keyless: Vec<Arc<KeylessCounter>>,
}

impl SeriesTable {
    pub(super) fn new() -> Self {
        let last =
            [AD_HOC, OTHER].map(|rule| ([rule, "", ""].map(Arc::from), Arc::new(SeriesCounters::new())));
        Self(Mutex::new(SeriesIndex {
            by_name: HashMap::new(),
            order: Vec::new(),
            last,
            keyless: Vec::new(),
        }))
    }

    pub(super) fn ad_hoc(&self) -> Arc<SeriesCounters> {
        Arc::clone(&self.0.lock().last[0].1)
    }

    /// Assigns series to the rules of a policy, by name. Series of removed rules stay as long as
    /// there are fewer than the maximum.
    pub(super) fn attach(&self, policy: &Policy, skips: Vec<Option<Arc<SkipCounter>>>) -> Box<[RuleSeries]> {
        let index = &mut *self.0.lock();
        let wanted: Vec<SeriesName> = policy.rules().iter().flat_map(RuleSeries::names).collect();
        index.replace(wanted);
        let before = std::mem::take(&mut index.keyless).into_iter();
        let before: HashMap<_, _> = before.map(|counter| (Arc::clone(counter.rule()), counter)).collect();
        let each = policy.rules().iter().zip(skips).map(|(rule, skips)| {
            let keyless = KeylessCounter::of(rule, &before);
            index.keyless.extend(keyless.clone());
            RuleSeries::new(rule, (keyless, skips), |name| index.series(name))
        });
        each.collect()
    }

    pub(super) fn without_key(&self) -> Vec<KeylessRequests> {
        self.0.lock().keyless.iter().map(|counter| counter.snapshot()).collect()
    }

    /// All series. Empty ones without a route are left out beside those of the rule's routes.
    pub(super) fn list(&self) -> Vec<Series> {
        let index = self.0.lock();
        let mut all: Vec<Series> = Vec::with_capacity(index.order.len() + index.last.len());
        for name in &index.order {
            let Some(counters) = index.by_name.get(name) else { continue };
            let series = series(name, counters);
            let follows =
                all.last().is_some_and(|last| last.rule == series.rule && last.limit == series.limit);
            if !(follows && series.route.is_empty() && series.is_empty()) {
                all.push(series);
            }
        }
        let last = index.last.iter().map(|(name, counters)| series(name, counters));
        all.extend(last.filter(|series| !series.is_empty()));
        all
    }
}

impl Series {
    /// True if nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.enforced == SeriesCounts::default() && self.observed == SeriesCounts::default()
    }
}

impl SeriesIndex {
    /// Series of a policy first, and after them as many of the others as the maximum allows.
    fn replace(&mut self, wanted: Vec<SeriesName>) {
        let before = std::mem::take(&mut self.order);
        let mut by_name = HashMap::with_capacity(before.len() + wanted.len());
        for name in wanted.into_iter().chain(before) {
            if by_name.len() < MAX_SERIES - self.last.len() && !by_name.contains_key(&name) {
                let series = self.by_name.remove(&name).unwrap_or_else(|| Arc::new(SeriesCounters::new()));
                by_name.insert(name.clone(), series);
                self.order.push(name);
            }
        }
        self.by_name = by_name;
    }

    fn series(&self, name: &SeriesName) -> Arc<SeriesCounters> {
        Arc::clone(self.by_name.get(name).unwrap_or(&self.last[1].1))
    }
}

fn series(name: &SeriesName, counters: &SeriesCounters) -> Series {
    let sums = counters.sums();
    let counts = |mode| {
        let of = |outcome| sums[counter(mode, outcome)];
        SeriesCounts {
            allowed: of(LimitOutcome::Allowed),
            denied: of(LimitOutcome::Denied),
            uncharged: of(LimitOutcome::Uncharged),
            peeked: of(LimitOutcome::Peeked),
            near_misses: of(LimitOutcome::NearMiss),
        }
    };
    let [rule, limit, route] = name.clone();
    Series { rule, limit, route, enforced: counts(HitMode::Enforce), observed: counts(HitMode::Observe) }
}
