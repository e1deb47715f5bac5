//! Where a rule counts: its lines, found without looking for a name.

use std::sync::Arc;

use super::SubjectNaming;
use super::keyless::KeylessCounter;
use super::series::{MAX_ROUTES, Name, OTHER, SeriesCounters, reason};
use super::skips::SkipCounter;
use slidegate_policy::{Blocked, Rule};

/// The lines of a rule, for all its sets of limits, all its reasons to refuse without asking one, and all its routes.
#[derive(Debug)]
pub(crate) struct RuleSeries {
    naming: Arc<SubjectNaming>,
    terms: Box<[LimitSetSeries]>,
    record_block: Box<[BlockSeries]>,
    keyless: Option<Arc<KeylessCounter>>,
    skips: Option<Arc<SkipCounter>>,
}

/// The lines of a set of limits: route by route, one for each limit.
type LimitSetSeries = Box<[Box<[Arc<SeriesCounters>]>]>;

/// Why it refuses, and the line for that of every route.
type BlockSeries = (Blocked, Box<[Arc<SeriesCounters>]>);

impl RuleSeries {
    /// The names of all lines of a rule, limit by limit.
    pub(super) fn names(rule: &Rule) -> impl Iterator<Item = Name> {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let limits = rule.limit_sets().iter().flat_map(|terms| terms.names()).map(|name| Arc::from(&**name));
        let limits: Vec<Arc<str>> =
            limits.chain(record_block(rule).map(|why| Arc::from(reason(why)))).collect();
        limits.into_iter().flat_map(move |limit| {
            let of = |route: &Arc<str>| [name.clone(), limit.clone(), route.clone()];
            routes.iter().map(of).collect::<Vec<_>>()
        })
    }

    pub(super) fn new(
        rule: &Rule,
        (keyless, skips): (Option<Arc<KeylessCounter>>, Option<Arc<SkipCounter>>),
        series: impl Fn(&Name) -> Arc<SeriesCounters>,
    ) -> Self {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let series =
            |limit: &Arc<str>, route: &Arc<str>| series(&[name.clone(), limit.clone(), route.clone()]);
        let terms = rule.limit_sets().iter().map(|terms| {
            let limits: Vec<Arc<str>> = terms.names().iter().map(|limit| Arc::from(&**limit)).collect();
            let of = |route: &Arc<str>| limits.iter().map(|limit| series(limit, route)).collect();
            routes.iter().map(of).collect()
        });
        let record_block = record_block(rule).map(|why| {
            let reason = Arc::from(reason(why));
            (why, routes.iter().map(|route| series(&reason, route)).collect())
        });
        let naming = Arc::new(SubjectNaming::new(rule.name(), rule.space(), rule.key_reader()));
        Self { terms: terms.collect(), record_block: record_block.collect(), keyless, skips, naming }
    }

    /// Counts a request that lacks an attribute of the key.
    #[cold]
    pub(super) fn record_keyless(&self) {
        if let Some(keyless) = &self.keyless {
            keyless.record();
        }
    }

    /// Counts a request that the rule skips.
    pub(crate) fn record_skip(&self) {
        if let Some(skips) = &self.skips {
            skips.record();
        }
    }

    /// What its subjects are called.
    pub(super) fn naming(&self) -> &Arc<SubjectNaming> {
        &self.naming
    }

    /// The lines of a set of limits on one route.
    #[inline]
    pub(super) fn series(&self, terms: usize, route: u32) -> &[Arc<SeriesCounters>] {
        &self.terms[terms][route as usize]
    }

    /// The line of what is refused for this reason on one route.
    pub(super) fn block_series(&self, why: Blocked, route: u32) -> Option<&SeriesCounters> {
        let (_, series) = self.record_block.iter().find(|(other, _)| *other == why)?;
        series.get(route as usize).map(|series| &**series)
    }
}

/// Why a rule may refuse without asking a limit.
fn record_block(rule: &Rule) -> impl Iterator<Item = Blocked> {
    Blocked::ALL.into_iter().filter(|why| rule.may_block(*why))
}

/// What the routes of a rule are called, and last that of requests by its name.
fn routes(rule: &Rule) -> Vec<Arc<str>> {
    let templates = rule.routes().enumerate().map(|(index, route)| match index {
        0..MAX_ROUTES => Arc::from(route),
        _ => Arc::from(OTHER),
    });
    templates.chain([Arc::from("")]).collect()
}
