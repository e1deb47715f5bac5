//! What is counted for every rule, limit and route.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::keyless::{KeylessCounter, KeylessRequests};
use super::rule_series::RuleSeries;
use super::skips::SkipCounter;
use super::striped::Striped;
use slidegate_policy::{Blocked, HitMode, KeyText, Policy};
use slidegate_store::Key;

/// The most lines that are kept. What does not fit is counted under the rule [`OTHER`].
pub const MAX_SERIES: usize = 8_192;
/// The most routes of one rule. The others are counted under the route [`OTHER`].
pub const MAX_ROUTES: usize = 32;
/// What has no line of its own.
pub const OTHER: &str = "(other)";
/// The rule of limits that came along with requests.
pub const AD_HOC: &str = "(ad hoc)";

/// What a limit of a rule has said on one route, since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// The rule; [`AD_HOC`] for limits that came along, [`OTHER`] for what has no line of its own.
    pub rule: Arc<str>,
    /// What the limit is called in headers, as `login-5/min`; `(deny list)` or `(missing key)` where the rule refuses without asking one.
    pub limit: Arc<str>,
    /// The template that the path fits; empty for rules that are for every path, and where a rule was asked by its name.
    pub route: Arc<str>,
    /// Where the rule refuses.
    pub enforced: SeriesCounts,
    /// Where it only looks on.
    pub observed: SeriesCounts,
}

/// What a limit has said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SeriesCounts {
    /// Charged.
    pub allowed: u64,
    /// It did not fit.
    pub denied: u64,
    /// It would have fitted, but another limit refused.
    pub uncharged: u64,
    /// Only looked, at a cost of 0.
    pub looked: u64,
    /// Of the allowed ones, those that left little room.
    pub near_misses: u64,
}

/// Nobody has named the parts of the key of a limit that came along: where there are several, they are numbered.
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

/// What stands for a limit where a rule refuses without asking one.
pub(super) fn reason(why: Blocked) -> &'static str {
    match why {
        Blocked::DenyList => "(deny list)",
        Blocked::MissingKey => "(missing key)",
    }
}

/// Which count.
#[derive(Clone, Copy, Debug)]
pub(super) enum LimitOutcome {
    Allowed,
    Denied,
    Uncharged,
    Looked,
    NearMiss,
}

const COUNTS: usize = 5;

/// Where a [`Series`] is counted.
pub(super) type SeriesCounters = Striped<{ 2 * COUNTS }>;

/// Where one of its counts is.
#[inline]
pub(super) fn counter(mode: HitMode, outcome: LimitOutcome) -> usize {
    let first = match mode {
        HitMode::Enforce => 0,
        HitMode::Observe => COUNTS,
    };
    first + outcome as usize
}

/// Rule, limit and route.
pub(super) type Name = [Arc<str>; 3];

/// All lines.
#[derive(Debug)]
pub(super) struct SeriesTable(Mutex<SeriesIndex>);

#[derive(Debug)]
struct SeriesIndex {
    by_name: HashMap<Name, Arc<SeriesCounters>>,
    /// In the order of the policy, then those of rules that are gone.
    order: Vec<Name>,
    /// The lines that everything else is counted in.
    last: [(Name, Arc<SeriesCounters>); 2],
    /// Of the rules of the policy, in its order.
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

    /// Gives every rule its lines: those that it had before, by name. Series of rules that are gone stay, unless there is no room.
    pub(super) fn attach(&self, policy: &Policy, skips: Vec<Option<Arc<SkipCounter>>>) -> Box<[RuleSeries]> {
        let index = &mut *self.0.lock();
        let wanted: Vec<Name> = policy.rules().iter().flat_map(RuleSeries::names).collect();
        index.renew(wanted);
        let before = std::mem::take(&mut index.keyless).into_iter();
        let before: HashMap<_, _> = before.map(|tally| (Arc::clone(tally.rule()), tally)).collect();
        let each = policy.rules().iter().zip(skips).map(|(rule, skips)| {
            let keyless = KeylessCounter::of(rule, &before);
            index.keyless.extend(keyless.clone());
            RuleSeries::new(rule, (keyless, skips), |name| index.series(name))
        });
        each.collect()
    }

    pub(super) fn without_key(&self) -> Vec<KeylessRequests> {
        self.0.lock().keyless.iter().map(|tally| tally.now()).collect()
    }

    /// All lines, but not those that nothing could count in yet beside the rules' own.
    pub(super) fn list(&self) -> Vec<Series> {
        let index = self.0.lock();
        let mut all: Vec<Series> = Vec::with_capacity(index.order.len() + index.last.len());
        for name in &index.order {
            let Some(tally) = index.by_name.get(name) else { continue };
            let series = series(name, tally);
            let is_by_name =
                all.last().is_some_and(|last| last.rule == series.rule && last.limit == series.limit);
            if !(is_by_name && series.route.is_empty() && series.is_empty()) {
                all.push(series);
            }
        }
        let last = index.last.iter().map(|(name, tally)| series(name, tally));
        all.extend(last.filter(|series| !series.is_empty()));
        all
    }
}

impl Series {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.enforced == SeriesCounts::default() && self.observed == SeriesCounts::default()
    }
}

impl SeriesIndex {
    /// The lines of a policy first, and after them as many of the others as there is room for.
    fn renew(&mut self, wanted: Vec<Name>) {
        let before = std::mem::take(&mut self.order);
        let mut known = HashMap::with_capacity(before.len() + wanted.len());
        for name in wanted.into_iter().chain(before) {
            if known.len() < MAX_SERIES - self.last.len() && !known.contains_key(&name) {
                let series = self.by_name.remove(&name).unwrap_or_else(|| Arc::new(SeriesCounters::new()));
                known.insert(name.clone(), series);
                self.order.push(name);
            }
        }
        self.by_name = known;
    }

    fn series(&self, name: &Name) -> Arc<SeriesCounters> {
        Arc::clone(self.by_name.get(name).unwrap_or(&self.last[1].1))
    }
}

fn series(name: &Name, tally: &SeriesCounters) -> Series {
    let sums = tally.sums();
    let counts = |mode| {
        let of = |outcome| sums[counter(mode, outcome)];
        SeriesCounts {
            allowed: of(LimitOutcome::Allowed),
            denied: of(LimitOutcome::Denied),
            uncharged: of(LimitOutcome::Uncharged),
            looked: of(LimitOutcome::Looked),
            near_misses: of(LimitOutcome::NearMiss),
        }
    };
    let [rule, limit, route] = name.clone();
    Series { rule, limit, route, enforced: counts(HitMode::Enforce), observed: counts(HitMode::Observe) }
}
