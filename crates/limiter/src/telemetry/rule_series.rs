//! Where a rule counts: its lines, found without looking for a name.

use std::sync::Arc;

use super::Naming;
use super::keyless::KeylessTally;
use super::series::{LineTally, MAX_ROUTES, Name, OTHER, reason};
use super::skips::SkipTally;
use slidegate_policy::{Barred, Rule};

/// The lines of a rule, for all its sets of limits, all its reasons to refuse without asking one, and all its routes.
#[derive(Debug)]
pub(crate) struct RuleTally {
    naming: Arc<Naming>,
    terms: Box<[TermsTally]>,
    bars: Box<[BarTally]>,
    keyless: Option<Arc<KeylessTally>>,
    skips: Option<Arc<SkipTally>>,
}

/// The lines of a set of limits: route by route, one for each limit.
type TermsTally = Box<[Box<[Arc<LineTally>]>]>;

/// Why it refuses, and the line for that of every route.
type BarTally = (Barred, Box<[Arc<LineTally>]>);

impl RuleTally {
    /// The names of all lines of a rule, limit by limit.
    pub(super) fn names(rule: &Rule) -> impl Iterator<Item = Name> {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let limits = rule.terms().iter().flat_map(|terms| terms.names()).map(|name| Arc::from(&**name));
        let limits: Vec<Arc<str>> = limits.chain(bars(rule).map(|why| Arc::from(reason(why)))).collect();
        limits.into_iter().flat_map(move |limit| {
            let of = |route: &Arc<str>| [name.clone(), limit.clone(), route.clone()];
            routes.iter().map(of).collect::<Vec<_>>()
        })
    }

    pub(super) fn new(
        rule: &Rule,
        (keyless, skips): (Option<Arc<KeylessTally>>, Option<Arc<SkipTally>>),
        line: impl Fn(&Name) -> Arc<LineTally>,
    ) -> Self {
        let (name, routes) = (Arc::<str>::from(rule.name()), routes(rule));
        let line = |limit: &Arc<str>, route: &Arc<str>| line(&[name.clone(), limit.clone(), route.clone()]);
        let terms = rule.terms().iter().map(|terms| {
            let limits: Vec<Arc<str>> = terms.names().iter().map(|limit| Arc::from(&**limit)).collect();
            let of = |route: &Arc<str>| limits.iter().map(|limit| line(limit, route)).collect();
            routes.iter().map(of).collect()
        });
        let bars = bars(rule).map(|why| {
            let reason = Arc::from(reason(why));
            (why, routes.iter().map(|route| line(&reason, route)).collect())
        });
        let naming = Arc::new(Naming::new(rule.name(), rule.space(), rule.key_reader()));
        Self { terms: terms.collect(), bars: bars.collect(), keyless, skips, naming }
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
    pub(super) fn naming(&self) -> &Arc<Naming> {
        &self.naming
    }

    /// The lines of a set of limits on one route.
    #[inline]
    pub(super) fn lines(&self, terms: usize, route: u32) -> &[Arc<LineTally>] {
        &self.terms[terms][route as usize]
    }

    /// The line of what is refused for this reason on one route.
    pub(super) fn bar(&self, why: Barred, route: u32) -> Option<&LineTally> {
        let (_, lines) = self.bars.iter().find(|(other, _)| *other == why)?;
        lines.get(route as usize).map(|line| &**line)
    }
}

/// Why a rule may refuse without asking a limit.
fn bars(rule: &Rule) -> impl Iterator<Item = Barred> {
    Barred::ALL.into_iter().filter(|why| rule.may_bar(*why))
}

/// What the routes of a rule are called, and last that of requests by its name.
fn routes(rule: &Rule) -> Vec<Arc<str>> {
    let templates = rule.routes().enumerate().map(|(index, route)| match index {
        0..MAX_ROUTES => Arc::from(route),
        _ => Arc::from(OTHER),
    });
    templates.chain([Arc::from("")]).collect()
}
