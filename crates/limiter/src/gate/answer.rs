//! What came of a request.

use std::sync::Arc;

use slidegate_core::{Decision, Decisions, Limit, Source, Verdict};
use smallvec::SmallVec;

use crate::permit::Permit;
use crate::policy::{Barred, Hit, Policy, Terms};

/// The answer to a request: the verdict of the rules that are enforced, and what those that only look on would have said.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) policy: Arc<Policy>,
    pub(super) verdict: Verdict,
    pub(super) applied: SmallVec<[Applied; 2]>,
    pub(super) observed: Vec<(Applied, Verdict)>,
    pub(super) barred: Option<(usize, Barred)>,
    pub(super) permit: Option<Permit>,
    pub(super) replayed: bool,
}

/// A rule that applied, and by which of its sets of limits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applied {
    pub(super) rule: usize,
    pub(super) terms: usize,
}

impl From<&Hit<'_>> for Applied {
    fn from(hit: &Hit<'_>) -> Self {
        Self { rule: hit.rule, terms: hit.terms }
    }
}

/// One limit's part in an answer.
#[derive(Clone, Copy, Debug)]
pub struct LimitAnswer<'a> {
    /// The name of the rule.
    pub rule: &'a str,
    /// What the limit is called in headers.
    pub name: &'a str,
    /// The limit as people write it.
    pub text: &'a str,
    /// The limit.
    pub limit: &'a Limit,
    /// What it says.
    pub decision: &'a Decision,
    /// Who says so: if nobody looked, what remains is not known.
    pub source: Source,
}

impl Answer {
    pub(super) fn barred_by(policy: Arc<Policy>, (rule, why): (usize, Barred), now_ms: u64) -> Self {
        Self {
            policy,
            verdict: Verdict::new(now_ms, Decisions::default()),
            applied: SmallVec::new(),
            observed: Vec::new(),
            barred: Some((rule, why)),
            permit: None,
            replayed: false,
        }
    }

    /// Whether the request may pass.
    pub fn is_allowed(&self) -> bool {
        self.barred.is_none() && self.verdict.is_allowed()
    }

    /// The rule that refuses the request whatever its limits say, and why.
    pub fn barred(&self) -> Option<(&str, Barred)> {
        self.barred.map(|(rule, why)| (self.policy.rules()[rule].name(), why))
    }

    /// What the rules that are enforced say together.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Every limit that is enforced, rule by rule in the order of the policy.
    pub fn limits(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        let limits = self.applied.iter().flat_map(|applied| self.limits_of(*applied));
        limits
            .zip(&*self.verdict.decisions)
            .map(|(limit, decision)| limit.says(decision, self.verdict.source))
    }

    /// Every limit of the rules that only look on.
    pub fn observed(&self) -> impl Iterator<Item = LimitAnswer<'_>> {
        self.observed.iter().flat_map(|(applied, verdict)| {
            let limits = self.limits_of(*applied).zip(&*verdict.decisions);
            limits.map(|(limit, decision)| limit.says(decision, verdict.source))
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

    fn limits_of(&self, applied: Applied) -> impl Iterator<Item = Named<'_>> {
        let rule = &self.policy.rules()[applied.rule];
        let terms: &Terms = &rule.terms()[applied.terms];
        let named = terms.limits().iter().zip(terms.names()).zip(terms.texts());
        named.map(|((limit, name), text)| Named { rule: rule.name(), name, text, limit })
    }
}

/// A limit whose answer is not known yet.
struct Named<'a> {
    rule: &'a str,
    name: &'a str,
    text: &'a str,
    limit: &'a Limit,
}

impl<'a> Named<'a> {
    fn says(self, decision: &'a Decision, source: Source) -> LimitAnswer<'a> {
        let Self { rule, name, text, limit } = self;
        LimitAnswer { rule, name, text, limit, decision, source }
    }
}
