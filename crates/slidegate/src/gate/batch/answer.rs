//! What came of several requests that were decided together.

use std::ops::Range;
use std::sync::Arc;

use slidegate_core::{Outcome, Source, Summary, Verdict};
use smallvec::SmallVec;

use super::item::{ItemLimits, MatchedItem};
use crate::gate::active_policy::ActivePolicy;
use crate::gate::answer::{Applied, DecisionOrigin, LimitAnswer, LimitEntries, summary};
use crate::gate::in_flight::units;
use slidegate_policy::{Blocked, HitMode, LimitSet, Policy};
use slidegate_store::OnStoreError;

/// The answer to several requests: whether all of them may pass, and what each of them met with.
#[derive(Clone, Debug)]
pub struct BatchAnswer {
    pub(in crate::gate) policy: Arc<ActivePolicy>,
    /// Of all limits that are enforced, demand by demand.
    pub(in crate::gate) verdict: Verdict,
    pub(in crate::gate) parts: SmallVec<[ItemRecord; 2]>,
    /// How many nodes divide a quota while the store does not answer.
    pub(in crate::gate) nodes: u64,
}

/// What belongs to one demand.
#[derive(Clone, Debug)]
pub(in crate::gate) struct ItemRecord {
    /// Whose limits were asked.
    origins: SmallVec<[LimitOwner; 2]>,
    /// Where their decisions are in the verdict.
    pub(in crate::gate) decisions: Range<usize>,
    pub(in crate::gate) observed: Vec<(Applied, Verdict)>,
    barred: Option<Option<(usize, Blocked)>>,
    cost: u64,
}

/// Who has a set of limits.
#[derive(Clone, Debug)]
enum LimitOwner {
    Rule(Applied),
    /// It came along. In a box, because few do.
    BatchItem(Box<LimitSet>),
}

impl ItemRecord {
    /// The part of a demand whose decisions begin here.
    pub(in crate::gate) fn new(policy: &Policy, matched: &MatchedItem<'_>, begin: usize) -> Self {
        let mut part = Self {
            origins: SmallVec::new(),
            decisions: begin..begin,
            observed: Vec::new(),
            barred: None,
            cost: matched.cost,
        };
        match &matched.by {
            ItemLimits::Nothing(why) => part.barred = Some(*why),
            ItemLimits::Limit(_, limit) => {
                let name = limit.to_string().replace(' ', "-").into();
                part.origins.push(LimitOwner::BatchItem(Box::new(LimitSet::new([(**limit, name)]))));
                part.decisions.end += 1;
            }
            ItemLimits::Rules(_) => {
                for hit in matched.hits(HitMode::Enforce) {
                    part.origins.push(LimitOwner::Rule(Applied::from(hit)));
                    part.decisions.end += policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
                }
            }
        }
        part
    }
}

impl BatchAnswer {
    /// Whether all may pass; if not, none was charged.
    pub fn is_allowed(&self) -> bool {
        !self.is_barred() && self.verdict.is_allowed()
    }

    /// Whether one of them is refused whatever the limits say. The others were only looked at then.
    pub fn is_barred(&self) -> bool {
        self.parts.iter().any(|part| part.barred.is_some())
    }

    /// What all limits that are enforced say together.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// The numbers of all of them together.
    pub fn summary(&self) -> Summary {
        summary(self.verdict.source, self.each().flat_map(|one| one.limits()))
    }

    /// What each of them met with, in the order in which they were asked.
    pub fn each(&self) -> impl ExactSizeIterator<Item = ItemAnswer<'_>> {
        self.parts.iter().map(|part| ItemAnswer { answers: self, part })
    }

    /// The rule that refuses because the store does not answer, if one does: nothing is known of the requests then, and nothing is
    /// told of their limits. If one of them is refused anyhow they are refused, whatever the store would say.
    pub fn unanswered(&self) -> Option<&str> {
        if self.verdict.source != Source::Assumed || self.is_barred() {
            return None;
        }
        let refuses = |limit: &LimitAnswer<'_>| limit.decision.outcome != Outcome::Fits;
        let mut rules =
            self.each().flat_map(|one| one.limits()).filter(refuses).filter_map(|limit| limit.rule);
        rules.find(|name| {
            let rule = self.policy.rules().iter().find(|rule| rule.name() == *name);
            rule.is_some_and(|rule| rule.on_store_error() == OnStoreError::Deny)
        })
    }
}

/// What one of several requests met with.
#[derive(Clone, Copy, Debug)]
pub struct ItemAnswer<'a> {
    answers: &'a BatchAnswer,
    part: &'a ItemRecord,
}

impl<'a> ItemAnswer<'a> {
    /// Whether its own limits admit it, whatever those of the others say.
    pub fn is_allowed(&self) -> bool {
        self.part.barred.is_none() && self.violated().next().is_none()
    }

    /// The limits that refuse it, whatever those of the others say.
    pub fn violated(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answers, part } = *self;
        // A look always fits: what was asked for does if so much remains.
        let looked = answers.verdict.source.is_known() && answers.is_barred();
        self.limits().filter(move |limit| {
            let refused = limit.decision.remaining < units(&limit.limit, part.cost);
            limit.decision.outcome != Outcome::Fits || looked && refused
        })
    }

    /// The rule that refuses it whatever its limits say, and why.
    pub fn barred(&self) -> Option<(&'a str, Blocked)> {
        let (rule, why) = self.part.barred.flatten()?;
        Some((self.answers.policy.rules()[rule].name(), why))
    }

    /// Every limit that is enforced, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answers: BatchAnswer { policy, verdict, nodes, .. }, part } = *self;
        let origin = DecisionOrigin::new(verdict, *nodes);
        let limits = part.origins.iter().flat_map(|origin| match origin {
            LimitOwner::Rule(applied) => applied.limits(policy),
            LimitOwner::BatchItem(terms) => LimitEntries::new(None, terms),
        });
        let decisions = &verdict.decisions[part.decisions.clone()];
        limits.zip(decisions).map(move |(limit, decision)| limit.with_decision(decision, origin))
    }

    /// The numbers of this request: those of its own limits together.
    pub fn summary(&self) -> Summary {
        summary(self.answers.verdict.source, self.limits())
    }

    /// The limit with the least remaining, whose quota the summary names.
    pub fn tightest(&self) -> Option<LimitAnswer<'a>> {
        self.limits().nth(self.summary().tightest?)
    }

    /// Every limit of the rules that only look on.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answers: BatchAnswer { policy, nodes, .. }, part } = *self;
        part.observed.iter().flat_map(|(applied, verdict)| {
            let origin = DecisionOrigin::new(verdict, *nodes);
            let limits = applied.limits(policy).zip(&*verdict.decisions);
            limits.map(move |(limit, decision)| limit.with_decision(decision, origin))
        })
    }
}
