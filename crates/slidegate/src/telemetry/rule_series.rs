//! Series of one rule, found without a look-up by name.

use std::sync::Arc;

use super::SubjectNaming;
use super::keyless::KeylessCounter;
use super::series::{MAX_ROUTES, OTHER, SeriesCounters, SeriesName, block_name};
use super::skips::SkipCounter;
use slidegate_policy::{Blocked, Rule};

/// Series of a rule: for all its limit sets, all its reasons to block, and all its routes.
#[derive(Debug)]
pub(crate) struct RuleSeries {
    naming: Arc<SubjectNaming>,
    limit_sets: Box<[LimitSetSeries]>,
    blocks: Box<[BlockSeries]>,
    keyless: Option<Arc<KeylessCounter>>,
    skips: Option<Arc<SkipCounter>>,
}

/// Series of a limit set: by route, one per limit.
type LimitSetSeries = Box<[Box<[Arc<SeriesCounters>]>]>;

/// Reason to block, and its series by route.
type BlockSeries = (Blocked, Box<[Arc<SeriesCounters>]>);

impl RuleSeries {
    /// Names of all series of a rule, limit by limit.
    pub(super) fn names(rule: &Rule) -> impl Iterator<Item = SeriesName> {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let limits = rule.limit_sets().iter().flat_map(|limit_set| limit_set.names());
        let limits = limits.map(|limit| Arc::from(&**limit));
        let blocks = block_reasons(rule).map(|reason| Arc::from(block_name(reason)));
        let limits: Vec<Arc<str>> = limits.chain(blocks).collect();
        limits.into_iter().flat_map(move |limit| {
            let of = |route: &Arc<str>| [name.clone(), limit.clone(), route.clone()];
            routes.iter().map(of).collect::<Vec<_>>()
        })
    }

    pub(super) fn new(
        rule: &Rule,
        (keyless, skips): (Option<Arc<KeylessCounter>>, Option<Arc<SkipCounter>>),
        series: impl Fn(&SeriesName) -> Arc<SeriesCounters>,
    ) -> Self {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let series =
            |limit: &Arc<str>, route: &Arc<str>| series(&[name.clone(), limit.clone(), route.clone()]);
        let limit_sets = rule.limit_sets().iter().map(|limit_set| {
            let limits: Vec<Arc<str>> = limit_set.names().iter().map(|limit| Arc::from(&**limit)).collect();
            let of = |route: &Arc<str>| limits.iter().map(|limit| series(limit, route)).collect();
            routes.iter().map(of).collect()
        });
        let blocks = block_reasons(rule).map(|reason| {
            let name = Arc::from(block_name(reason));
            (reason, routes.iter().map(|route| series(&name, route)).collect())
        });
        let naming = Arc::new(SubjectNaming::new(rule.name(), rule.space(), rule.key_reader()));
        Self { limit_sets: limit_sets.collect(), blocks: blocks.collect(), keyless, skips, naming }
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

    /// Naming of its subjects.
    pub(super) fn naming(&self) -> &Arc<SubjectNaming> {
        &self.naming
    }

    /// Series of a limit set on one route.
    #[inline]
    pub(super) fn series(&self, limit_set: usize, route: u32) -> &[Arc<SeriesCounters>] {
        &self.limit_sets[limit_set][route as usize]
    }

    /// Series of requests blocked for this reason on one route.
    pub(super) fn block_series(&self, reason: Blocked, route: u32) -> Option<&SeriesCounters> {
        let (_, series) = self.blocks.iter().find(|(other, _)| *other == reason)?;
        series.get(route as usize).map(|series| &**series)
    }
}

/// Reasons for which a rule may block a request.
fn block_reasons(rule: &Rule) -> impl Iterator<Item = Blocked> {
    Blocked::ALL.into_iter().filter(|reason| rule.may_block(*reason))
}

/// Names of the routes of a rule, and last that of requests that name the rule.
fn routes(rule: &Rule) -> Vec<Arc<str>> {
    let templates = rule.routes().enumerate().map(|(index, route)| match index {
        0..MAX_ROUTES => Arc::from(route),
        _ => Arc::from(OTHER),
    });
    templates.chain([Arc::from("")]).collect()
}
