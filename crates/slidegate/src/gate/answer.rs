//! Answers of a gate: one type for a request, a batch, and decisions without a future.

use std::sync::Arc;
#[cfg(feature = "http")]
use std::sync::OnceLock;

#[cfg(feature = "http")]
use ::http::HeaderValue;
use arc_swap::Guard;
use slidegate_core::{Decision, Limit, Outcome, Source, Summary, Verdict, Wait};
use smallvec::{SmallVec, smallvec};

use super::active_policy::ActivePolicy;
#[cfg(feature = "http")]
use super::active_policy::SetFields;
use super::follow_up::FollowUp;
use super::in_flight::units;
use super::item::{BlockedBy, ItemLimits, MatchedItem, is_blocked};
use crate::permit::UnsignedPermit;
use slidegate_policy::{Blocked, Hit, HitMode, LimitSet, Policy, Rule};
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
    unanswered: Option<u32>,
    /// Number of nodes that share a quota while the store is unavailable.
    nodes: u64,
}

/// Part of one item in an answer: what it has of each list begins where the item before it ends.
#[derive(Clone, Copy, Debug)]
struct ItemRecord {
    ends: ItemBounds,
    blocked_by: Option<BlockedBy>,
    cost: u64,
}

/// Bounds of an item in the lists of an answer.
#[derive(Clone, Copy, Default, Debug)]
struct ItemBounds {
    limit_sets: u32,
    decisions: u32,
    dry_runs: u32,
}

/// Limit set of an answer.
#[derive(Clone, Debug)]
enum LimitSetRef {
    Rule {
        rule: u32,
        limit_set: u32,
    },
    /// Ad hoc limit. In a box, because few requests have one.
    AdHoc(Box<LimitSet>),
}

impl LimitSetRef {
    /// Rule of the set, unless it is ad hoc, and the set.
    #[inline]
    fn resolve<'a>(&'a self, policy: &'a Policy) -> (Option<&'a Rule>, &'a LimitSet) {
        match self {
            Self::Rule { rule, limit_set } => {
                let rule = &policy.rules()[*rule as usize];
                (Some(rule), &rule.limit_sets()[*limit_set as usize])
            }
            Self::AdHoc(set) => (None, set),
        }
    }

    fn limits<'a>(&'a self, policy: &'a Policy) -> impl Iterator<Item = NamedLimit<'a>> + use<'a> {
        let (rule, set) = self.resolve(policy);
        let rule = rule.map(Rule::name);
        let entries = set.limits().iter().zip(set.names()).zip(set.texts());
        entries.map(move |((limit, name), text)| NamedLimit { rule, name, text, limit })
    }
}

impl From<&Hit<'_>> for LimitSetRef {
    #[inline]
    fn from(hit: &Hit<'_>) -> Self {
        Self::Rule { rule: hit.rule as u32, limit_set: hit.limit_set as u32 }
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
    pub fn has_numbers(&self) -> bool {
        self.source.has_numbers()
    }

    /// Whether the limit refuses the request.
    pub fn is_violated(&self) -> bool {
        self.decision.outcome != Outcome::Fits
    }
}

impl Answer {
    // Always: it is large, and built where it is returned.
    #[inline(always)]
    pub(super) fn new(
        policy: Guard<Arc<ActivePolicy>>,
        items: &[MatchedItem<'_>],
        verdict: Verdict,
        follow_up: FollowUp,
        nodes: u64,
    ) -> Self {
        let FollowUp { dry_runs: verdicts, permit, replayed } = follow_up;
        let mut limit_sets = SmallVec::new();
        let mut records = SmallVec::new();
        let mut dry_runs = Vec::new();
        let mut verdicts = verdicts.into_iter();
        let mut decisions = 0;
        for item in items {
            if verdicts.len() > 0 {
                dry_runs.extend(item.hits_in(HitMode::Observe).map(LimitSetRef::from).zip(&mut verdicts));
            }
            if let ItemLimits::AdHoc(_, limit) = item.limits {
                let name = limit.to_string().replace(' ', "-").into();
                limit_sets.push(LimitSetRef::AdHoc(Box::new(LimitSet::new([(*limit, name)]))));
                decisions += 1;
            }
            for hit in item.hits_in(HitMode::Enforce) {
                limit_sets.push(LimitSetRef::from(hit));
                decisions += policy.rules()[hit.rule].limit_sets()[hit.limit_set].limits().len();
            }
            let ends = ItemBounds {
                limit_sets: limit_sets.len() as u32,
                decisions: decisions as u32,
                dry_runs: dry_runs.len() as u32,
            };
            records.push(ItemRecord { ends, blocked_by: item.blocked_by(), cost: item.cost });
        }
        let unanswered = unanswered(&policy, items, &verdict);
        Self { policy, verdict, limit_sets, items: records, dry_runs, permit, replayed, unanswered, nodes }
    }

    /// Answer to a request with one hit, of this cost.
    // Always, as above.
    #[inline(always)]
    pub(super) fn of_hit(
        policy: Guard<Arc<ActivePolicy>>,
        (hit, cost): (&Hit<'_>, u64),
        verdict: Verdict,
        permit: Option<UnsignedPermit>,
        nodes: u64,
    ) -> Self {
        let ends = ItemBounds { limit_sets: 1, decisions: verdict.decisions.len() as u32, dry_runs: 0 };
        Self {
            policy,
            verdict,
            limit_sets: smallvec![LimitSetRef::from(hit)],
            items: SmallVec::from_buf([ItemRecord { ends, blocked_by: None, cost }]),
            dry_runs: Vec::new(),
            permit,
            replayed: false,
            unanswered: None,
            nodes,
        }
    }

    /// Whether the request may pass. Of a batch: whether all may; if not, none was charged.
    #[inline]
    pub fn is_allowed(&self) -> bool {
        !self.is_blocked() && self.verdict.is_allowed()
    }

    /// Whether the request, or one of the batch, is refused whatever the limits say. The others of
    /// the batch were only peeked at then.
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
        self.summary_of(&self.limit_sets, &self.verdict.decisions)
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
        let mut starts = ItemBounds::default();
        self.items.iter().map(move |item| {
            let answer = ItemAnswer { answer: self, item, starts };
            starts = item.ends;
            answer
        })
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
        self.unanswered.map(|rule| self.policy.rules()[rule as usize].name())
    }

    /// Summary of the limits of these sets, without their names.
    #[inline]
    fn summary_of(&self, sets: &[LimitSetRef], mut decisions: &[Decision]) -> Summary {
        let source = self.verdict.source;
        // Most requests have one limit.
        if let ([set], [decision]) = (sets, decisions)
            && let [limit] = set.resolve(&self.policy).1.limits()
            && source == Source::Store
        {
            return Summary::single(source, limit, decision);
        }
        Summary::new(
            source,
            sets.iter().flat_map(|set| {
                let limits = set.resolve(&self.policy).1.limits();
                let (own, others) = decisions.split_at(limits.len().min(decisions.len()));
                decisions = others;
                limits.iter().map(move |limit| self.decisive(limit, source)).zip(own)
            }),
        )
    }

    /// Header fields that this answer shares with others, if one limit set decided.
    #[cfg(feature = "http")]
    #[inline]
    fn set_fields(&self) -> Option<&SetFields> {
        match self.limit_sets.as_slice() {
            [LimitSetRef::Rule { rule, limit_set }] if self.verdict.source == Source::Store => {
                Some(self.policy.set_fields(*rule as usize, *limit_set as usize))
            }
            _ => None,
        }
    }

    /// Store of the `RateLimit-Policy` of this answer and others.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn policy_field(&self) -> Option<&OnceLock<HeaderValue>> {
        self.set_fields().map(|fields| &fields.policy)
    }

    /// Store of the `RateLimit-Limit` of this answer and others.
    #[cfg(feature = "http")]
    #[inline]
    pub(crate) fn limit_field(&self) -> Option<&OnceLock<HeaderValue>> {
        self.set_fields().filter(|_| self.verdict.decisions.len() == 1).map(|fields| &fields.limit)
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
        let share_of = (source == Source::Local).then_some(limit);
        let limit = self.decisive(limit, source);
        LimitAnswer { rule, name, text, limit, share_of, decision, source, decided_at_ms }
    }

    /// The limit that decided: the rule's own, or this node's share of it.
    #[inline]
    fn decisive(&self, limit: &Limit, source: Source) -> Limit {
        if source == Source::Local { share(limit, self.nodes) } else { *limit }
    }
}

/// Answer to one request of a batch.
#[derive(Clone, Copy, Debug)]
pub struct ItemAnswer<'a> {
    answer: &'a Answer,
    item: &'a ItemRecord,
    starts: ItemBounds,
}

impl<'a> ItemAnswer<'a> {
    /// Whether its own limits admit it, whatever those of the others say.
    pub fn is_allowed(&self) -> bool {
        self.item.blocked_by.is_none() && self.violated().next().is_none()
    }

    /// The limits that refuse it, whatever those of the others say.
    pub fn violated(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let Self { answer, item, .. } = *self;
        // A peek always fits: the cost does if so much remains.
        let is_peek = answer.verdict.source.has_numbers() && answer.is_blocked();
        self.limits().filter(move |limit| {
            limit.is_violated() || is_peek && limit.decision.remaining < units(&limit.limit, item.cost)
        })
    }

    /// The rule that blocks it whatever its limits say, and why.
    pub fn blocked(&self) -> Option<(&'a str, Blocked)> {
        match self.item.blocked_by? {
            BlockedBy::Rule(rule, reason) => Some((self.answer.policy.rules()[rule as usize].name(), reason)),
            BlockedBy::Caller => None,
        }
    }

    /// Every enforced limit, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let (sets, decisions) = self.part();
        self.answer.limits_of(sets, decisions)
    }

    /// Its limit sets and their decisions.
    fn part(&self) -> (&'a [LimitSetRef], &'a [Decision]) {
        let Self { answer, item: ItemRecord { ends, .. }, starts } = *self;
        let decisions = starts.decisions as usize..ends.decisions as usize;
        let sets = &answer.limit_sets[starts.limit_sets as usize..ends.limit_sets as usize];
        (sets, answer.verdict.decisions.get(decisions).unwrap_or_default())
    }

    /// Numbers of this request: those of its own limits together.
    pub fn summary(&self) -> Summary {
        let (sets, decisions) = self.part();
        self.answer.summary_of(sets, decisions)
    }

    /// The limit with the least remaining, whose quota the summary has.
    pub fn tightest(&self) -> Option<LimitAnswer<'a>> {
        self.limits().nth(self.summary().tightest?)
    }

    /// Every limit of the rules in observe mode.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'a>> + use<'a> {
        let dry_runs = self.starts.dry_runs as usize..self.item.ends.dry_runs as usize;
        self.answer.dry_run_limits(&self.answer.dry_runs[dry_runs])
    }
}

/// Rule that refuses because the store is unavailable, unless an item is blocked anyway.
#[inline]
pub(super) fn unanswered(policy: &Policy, items: &[MatchedItem<'_>], verdict: &Verdict) -> Option<u32> {
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
                return Some(hit.rule as u32);
            }
        }
    }
    None
}
