//! What came of a request.

use std::sync::Arc;

use slidegate_core::{Decision, Decisions, Limit, Source, Summary, Verdict, Wait};
use smallvec::SmallVec;

use super::active_policy::ActivePolicy;
use crate::permit::Permit;
use slidegate_policy::{Blocked, Hit, LimitSet, Policy};
use slidegate_store::fallback::share;

/// The answer to a request: the verdict of the rules that are enforced, and what those that only look on would have said.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) policy: Arc<ActivePolicy>,
    pub(super) verdict: Verdict,
    pub(super) applied: SmallVec<[Applied; 2]>,
    pub(super) observed: Vec<(Applied, Verdict)>,
    pub(super) barred: Option<(usize, Blocked)>,
    pub(super) permit: Option<Permit>,
    pub(super) replayed: bool,
    /// How many nodes divide a quota while the store does not answer.
    pub(super) nodes: u64,
}

/// A rule that applied, and by which of its sets of limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applied {
    pub(super) rule: usize,
    pub(super) terms: usize,
}

impl Applied {
    pub(super) fn limits(self, policy: &Policy) -> LimitEntries<'_> {
        let rule = &policy.rules()[self.rule];
        LimitEntries::new(Some(rule.name()), &rule.limit_sets()[self.terms])
    }
}

impl From<&Hit<'_>> for Applied {
    fn from(hit: &Hit<'_>) -> Self {
        Self { rule: hit.rule, terms: hit.limit_set }
    }
}

/// One limit's part in an answer.
#[derive(Clone, Copy, Debug)]
pub struct LimitAnswer<'a> {
    /// The name of the rule; none has a limit that came along.
    pub rule: Option<&'a str>,
    /// What the limit is called in headers.
    pub name: &'a str,
    /// The limit as people write it.
    pub text: &'a str,
    /// The limit that decided: the rule's own, or this node's share of it.
    pub limit: Limit,
    /// The rule's own limit, where a share of it decided because the store did not answer.
    pub share_of: Option<&'a Limit>,
    /// What it says.
    pub decision: &'a Decision,
    /// Who says so: if nobody looked, what remains is not known.
    pub source: Source,
    /// When it said so.
    pub decided_at_ms: u64,
}

impl LimitAnswer<'_> {
    /// How long it has to be waited for.
    pub fn wait(&self) -> Wait {
        Wait::of(&self.limit, self.decision)
    }

    /// Whether somebody looked, so that what remains is known.
    pub fn is_known(&self) -> bool {
        self.source.is_known()
    }
}

/// The numbers of a request under these limits.
pub(super) fn summary<'a>(source: Source, limits: impl Iterator<Item = LimitAnswer<'a>>) -> Summary {
    Summary::new(source, limits.map(|limit| (limit.limit, limit.decision)))
}

impl Answer {
    pub(super) fn blocked_by(policy: Arc<ActivePolicy>, (rule, why): (usize, Blocked), now_ms: u64) -> Self {
        Self {
            policy,
            verdict: Verdict::new(now_ms, Decisions::default()),
            applied: SmallVec::new(),
            observed: Vec::new(),
            barred: Some((rule, why)),
            permit: None,
            replayed: false,
            nodes: 1,
        }
    }

    /// Whether the request may pass.
    pub fn is_allowed(&self) -> bool {
        self.barred.is_none() && self.verdict.is_allowed()
    }

    /// The rule that refuses the request whatever its limits say, and why.
    pub fn barred(&self) -> Option<(&str, Blocked)> {
        self.barred.map(|(rule, why)| (self.policy.rules()[rule].name(), why))
    }

    /// What the rules that are enforced say together.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Every limit that is enforced, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        let limits = self.applied.iter().flat_map(|applied| applied.limits(&self.policy));
        let origin = DecisionOrigin::new(&self.verdict, self.nodes);
        limits
            .zip(&*self.verdict.decisions)
            .map(move |(limit, decision)| limit.with_decision(decision, origin))
    }

    /// The numbers of the request: those of all these limits together.
    pub fn summary(&self) -> Summary {
        summary(self.verdict.source, self.limits())
    }

    /// The limit with the least remaining, whose quota the summary names.
    pub fn tightest(&self) -> Option<LimitAnswer<'_>> {
        self.limits().nth(self.summary().tightest?)
    }

    /// Every limit of the rules that only look on.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.observed.iter().flat_map(|(applied, verdict)| {
            let origin = DecisionOrigin::new(verdict, self.nodes);
            let limits = applied.limits(&self.policy).zip(&*verdict.decisions);
            limits.map(move |(limit, decision)| limit.with_decision(decision, origin))
        })
    }

    /// What gives the charge back, if it was admitted by a rule that allows that.
    pub fn permit(&self) -> Option<&Permit> {
        self.permit.as_ref()
    }

    /// Whether this is the answer to the same request, sent before.
    pub fn replayed(&self) -> bool {
        self.replayed
    }
}

/// A limit whose answer is not known yet.
pub(super) struct LimitEntry<'a> {
    rule: Option<&'a str>,
    name: &'a str,
    text: &'a str,
    limit: &'a Limit,
}

/// Origin of a decision: who made it, when, and one of how many nodes if by its share.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecisionOrigin {
    pub(super) source: Source,
    pub(super) decided_at_ms: u64,
    pub(super) nodes: u64,
}

impl DecisionOrigin {
    pub(super) fn new(verdict: &Verdict, nodes: u64) -> Self {
        Self { source: verdict.source, decided_at_ms: verdict.decided_at_ms, nodes }
    }
}

impl<'a> LimitEntry<'a> {
    pub(super) fn with_decision(self, decision: &'a Decision, origin: DecisionOrigin) -> LimitAnswer<'a> {
        let Self { rule, name, text, limit } = self;
        let DecisionOrigin { source, decided_at_ms, nodes } = origin;
        let (decisive, share_of) = match source {
            Source::Local => (share(limit, nodes), Some(limit)),
            Source::Store | Source::Cache | Source::Assumed => (*limit, None),
        };
        LimitAnswer { rule, name, text, limit: decisive, share_of, decision, source, decided_at_ms }
    }
}

/// A set of limits, one after the other.
pub(super) struct LimitEntries<'a> {
    rule: Option<&'a str>,
    terms: &'a LimitSet,
    next: usize,
}

impl<'a> LimitEntries<'a> {
    pub(super) fn new(rule: Option<&'a str>, terms: &'a LimitSet) -> Self {
        Self { rule, terms, next: 0 }
    }
}

impl<'a> Iterator for LimitEntries<'a> {
    type Item = LimitEntry<'a>;

    fn next(&mut self) -> Option<LimitEntry<'a>> {
        let Self { rule, terms, next } = *self;
        let limit = terms.limits().get(next)?;
        self.next += 1;
        Some(LimitEntry { rule, name: &terms.names()[next], text: &terms.texts()[next], limit })
    }
}
