//! Answers of a gate: one type for a request, a batch, and decisions without a future.

use std::ops::Range;
use std::sync::Arc;

use arc_swap::Guard;
use slidegate_core::{Decision, Limit, Outcome, Source, Summary, Verdict, Wait};
use smallvec::SmallVec;

use super::active_policy::ActivePolicy;
use super::follow_up::FollowUp;
use super::in_flight::units;
use super::item::{BlockedBy, ItemLimits, MatchedItem, is_blocked};
use crate::permit::UnsignedPermit;
use slidegate_policy::{Blocked, Hit, HitMode, LimitSet, Policy};
use slidegate_store::OnStoreError;
use slidegate_store::fallback::share;

/// Answer to a request, or to all requests of a batch: the verdict of the enforced rules, and the
/// verdicts of the rules in observe mode.
#[derive(Debug)]
pub struct Answer {
    policy: Guard<Arc<ActivePolicy>>,
    /// Decisions of all enforced limits, item by item.
    verdict: Verdict,
    /// Limit sets that made these decisions, in the same order.
    limit_sets: SmallVec<[LimitSetRef; 2]>,
    items: SmallVec<[ItemRecord; 1]>,
    /// Dry runs, item by item.
    dry_runs: Vec<(LimitSetRef, Verdict)>,
    permit: Option<UnsignedPermit>,
    replayed: bool,
    /// Rule that refuses because the store is unavailable.
    unanswered: Option<usize>,
    /// Number of nodes that share a quota while the store is unavailable.
    nodes: u64,
}

/// Part of one item in an answer.
#[derive(Clone, Debug)]
struct ItemRecord {
    limit_sets: Range<usize>,
    decisions: Range<usize>,
    dry_runs: Range<usize>,
    blocked_by: Option<BlockedBy>,
    cost: u64,
}

/// Limit set of an answer.
#[derive(Clone, Debug)]
enum LimitSetRef {
    Rule {
        rule: usize,
        limit_set: usize,
    },
    /// Ad hoc limit. In a box, because few requests have one.
    AdHoc(Box<LimitSet>),
}

impl LimitSetRef {
    fn limits<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = NamedLimit<'a>> + use<'a> {
        let (rule, set) = match self {
            Self::Rule { rule, limit_set } => {
                let rule = &policy.rules()[*rule];
                (Some(rule.name()), &rule.limit_sets()[*limit_set])
            }
            Self::AdHoc(set) => (None, &**set),
        };
        let entries = set.limits().iter().zip(set.names()).zip(set.texts());
        entries.map(move |((limit, name), text)| NamedLimit { rule, name, text, limit })
    }
}

impl From<&Hit<'_>> for LimitSetRef {
    #[inline]
    fn from(hit: &Hit<'_>) -> Self {
        Self::Rule { rule: hit.rule, limit_set: hit.limit_set }
    }
}

/// Limit of a set, with its names.
struct NamedLimit<'a> {
    rule: Option<&'a str>,
    name: &'a str,
    text: &'a str,
    limit: &'a Limit,
}

/// Decision of one limit in an answer.
#[derive(Clone, Copy, Debug)]
pub struct LimitAnswer<'a> {
    /// Name of the rule; `None` for an ad hoc limit.
    pub rule: Option<&'a str>,
    /// Name of the limit in headers.
    pub name: &'a str,
    /// The limit as people write it.
    pub text: &'a str,
    /// The limit that decided: the rule's own, or this node's share of it.
    pub limit: Limit,
    /// The rule's own limit, where a share of it decided because the store was unavailable.
    pub share_of: Option<&'a Limit>,
    /// Decision.
    pub decision: &'a Decision,
    /// Source of the decision.
    pub source: Source,
    /// Time of the decision.
    pub decided_at_ms: u64,
}

impl LimitAnswer<'_> {
    /// Wait until this limit admits the request.
    pub fn wait(&self) -> Wait {
        Wait::of(&self.limit, self.decision)
    }

    /// Whether the limit was evaluated, so that the remaining quota is known.
    pub fn is_known(&self) -> bool {
        self.source.is_known()
    }

    /// Whether the limit refuses the request.
    pub fn is_violated(&self) -> bool {
        self.decision.outcome != Outcome::Fits
    }
}

impl Answer {
    #[inline]
    pub(super) fn new(
        policy: Guard<Arc<ActivePolicy>>,
        items: &[MatchedItem<'_>],
        verdict: Verdict,
        follow_up: FollowUp,
        nodes: u64,
    ) -> Self {
        let FollowUp { dry_runs: verdicts, permit, replayed } = follow_up;
        let mut limit_sets = SmallVec::new();
        let mut records = SmallVec::with_capacity(items.len());
        let mut decided = 0;
        let mut dry_runs = Vec::with_capacity(verdicts.len());
        let mut verdicts = verdicts.into_iter();
        for item in items {
            let (first_set, first_decision, first_dry_run) = (limit_sets.len(), decided, dry_runs.len());
            dry_runs.extend(item.hits_in(HitMode::Observe).map(LimitSetRef::from).zip(&mut verdicts));
            if let ItemLimits::AdHoc(_, limit) = item.limits {
                let name = limit.to_string().replace(' ', "-").into();
                limit_sets.push(LimitSetRef::AdHoc(Box::new(LimitSet::new([(*limit, name)]))));
                decided += 1;
            }
            for hit in item.hits_in(HitMode::Enforce) {
                limit_sets.push(LimitSetRef::from(hit));
                decided += policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
            }
            records.push(ItemRecord {
                limit_sets: first_set..limit_sets.len(),
                decisions: first_decision..decided,
                dry_runs: first_dry_run..dry_runs.len(),
                blocked_by: item.blocked_by(),
                cost: item.cost,
            });
        }
        let unanswered = unanswered(&policy, items, &verdict);
        Self { policy, verdict, limit_sets, items: records, dry_runs, permit, replayed, unanswered, nodes }
    }

    /// Whether the request may pass. Of a batch: whether all may; if not, none was charged.
    #[inline]
    pub fn is_allowed(&self) -> bool {
        !self.is_blocked() && self.verdict.is_allowed()
    }

    /// Whether the request, or one of the batch, is refused whatever the limits say. The others of the
    /// batch were only peeked at then.
    #[inline]
    pub fn is_blocked(&self) -> bool {
        self.items.iter().any(|item| item.blocked_by.is_some())
    }

    /// The rule that blocks the request whatever the limits say, and why.
    pub fn blocked(&self) -> Option<(&str, Blocked)> {
        self.items().find_map(|item| item.blocked())
    }

    /// Verdict of all enforced limits.
    #[inline]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Every enforced limit, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.limits_of(&self.limit_sets, &self.verdict.decisions)
    }

    /// Numbers of the request: those of all its limits together.
    #[inline]
    pub fn summary(&self) -> Summary {
        summary(&self.verdict, self.limits())
    }

    /// The limit with the least remaining, whose quota the summary has.
    pub fn tightest(&self) -> Option<LimitAnswer<'_>> {
        self.limits().nth(self.summary().tightest?)
    }

    /// Every limit of the rules in observe mode.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.dry_run_limits(&self.dry_runs)
    }

    /// The requests of the batch, in order; a single request is a batch of one.
    pub fn items(&self) -> impl ExactSizeIterator<Item = ItemAnswer<'_>> {
        self.items.iter().map(|item| ItemAnswer { answer: self, item })
    }

    /// Permit to settle or refund the charge in this process, if the request was admitted by a rule
    /// that allows that. [`Gate::permit`](super::Gate::permit) signs it for others.
    pub fn unsigned_permit(&self) -> Option<&UnsignedPermit> {
        self.permit.as_ref()
    }

    /// Takes [`Answer::unsigned_permit`] out of the answer.
    pub fn take_permit(&mut self) -> Option<UnsignedPermit> {
        self.permit.take()
    }

    /// Whether the request was charged before, under the same idempotency key.
    pub fn replayed(&self) -> bool {
        self.replayed
    }

    /// The rule that refuses because the store is unavailable, if one does: nothing is known of the
    /// limits then. `None` if a request is blocked, whatever the store would say.
    pub fn unanswered(&self) -> Option<&str> {
        self.unanswered.map(|rule| self.policy.rules()[rule].name())
    }

    fn limits_of<'a>(
        &'a self,
        sets: &'a [LimitSetRef],
        decisions: &'a [Decision],
    ) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let limits = sets.iter().flat_map(|set| set.limits(&self.policy));
        limits.zip(decisions).map(|(entry, decision)| self.limit_answer(entry, decision, &self.verdict))
    }

    fn dry_run_limits<'a>(
        &'a self,
        dry_runs: &'a [(LimitSetRef, Verdict)],
    ) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        dry_runs.iter().flat_map(move |(set, verdict)| {
            let limits = set.limits(&self.policy).zip(&*verdict.decisions);
            limits.map(move |(entry, decision)| self.limit_answer(entry, decision, verdict))
        })
    }

    #[inline]
    fn limit_answer<'a>(
        &self,
        NamedLimit { rule, name, text, limit }: NamedLimit<'a>,
        decision: &'a Decision,
        &Verdict { source, decided_at_ms, .. }: &Verdict,
    ) -> LimitAnswer<'a> {
        let (decisive, share_of) = match source {
            Source::Local => (share(limit, self.nodes), Some(limit)),
            Source::Store | Source::Cache | Source::Assumed => (*limit, None),
        };
        LimitAnswer { rule, name, text, limit: decisive, share_of, decision, source, decided_at_ms }
    }
}

/// Answer to one request of a batch.
#[derive(Clone, Copy, Debug)]
pub struct ItemAnswer<'a> {
    answer: &'a Answer,
    item: &'a ItemRecord,
}

impl<'a> ItemAnswer<'a> {
    /// Whether its own limits admit it, whatever those of the others say.
    pub fn is_allowed(&self) -> bool {
        self.item.blocked_by.is_none() && self.violated().next().is_none()
    }

    /// The limits that refuse it, whatever those of the others say.
    pub fn violated(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answer, item } = *self;
        // A peek always fits: the cost does if so much remains.
        let is_peek = answer.verdict.source.is_known() && answer.is_blocked();
        self.limits().filter(move |limit| {
            limit.is_violated() || is_peek && limit.decision.remaining < units(&limit.limit, item.cost)
        })
    }

    /// The rule that blocks it whatever its limits say, and why.
    pub fn blocked(&self) -> Option<(&'a str, Blocked)> {
        match self.item.blocked_by? {
            BlockedBy::Rule(rule, reason) => Some((self.answer.policy.rules()[rule].name(), reason)),
            BlockedBy::Caller => None,
        }
    }

    /// Every enforced limit, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answer, item } = *self;
        let sets = &answer.limit_sets[item.limit_sets.clone()];
        answer.limits_of(sets, answer.verdict.decisions.get(item.decisions.clone()).unwrap_or_default())
    }

    /// Numbers of this request: those of its own limits together.
    pub fn summary(&self) -> Summary {
        summary(&self.answer.verdict, self.limits())
    }

    /// The limit with the least remaining, whose quota the summary has.
    pub fn tightest(&self) -> Option<LimitAnswer<'a>> {
        self.limits().nth(self.summary().tightest?)
    }

    /// Every limit of the rules in observe mode.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        self.answer.dry_run_limits(&self.answer.dry_runs[self.item.dry_runs.clone()])
    }
}

/// Rule that refuses because the store is unavailable, unless an item is blocked anyway.
#[inline]
pub(super) fn unanswered(policy: &Policy, items: &[MatchedItem<'_>], verdict: &Verdict) -> Option<usize> {
    if verdict.source != Source::Assumed || is_blocked(items) {
        return None;
    }
    let mut decisions = verdict.decisions.iter();
    for item in items {
        // Ad hoc limits have no rule.
        decisions.by_ref().take(item.ad_hoc_limits()).for_each(drop);
        for hit in item.hits_in(HitMode::Enforce) {
            let rule = &policy.rules()[hit.rule];
            let mut own = decisions.by_ref().take(rule.limit_sets()[hit.limit_set].limits().len());
            let refuses = own.by_ref().fold(false, |any, one| any | (one.outcome != Outcome::Fits));
            if refuses && rule.on_store_error() == OnStoreError::Deny {
                return Some(hit.rule);
            }
        }
    }
    None
}

#[inline]
fn summary<'a>(verdict: &Verdict, limits: impl Iterator<Item = LimitAnswer<'a>>) -> Summary {
    Summary::new(verdict.source, limits.map(|limit| (limit.limit, limit.decision)))
}
