//! Answer of the gate to a step, in the terms of expectations.

use std::fmt;

use slidegate::policy::{Blocked, Choice, HitMode, Policy};
use slidegate::{Answer, LimitAnswer, Request, Wait};

/// Answer to a request of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StepAnswer {
    /// Outcome.
    pub outcome: StepOutcome,
    /// Rules that apply, in the order of the policy.
    pub rules: Vec<String>,
    /// Rules in observe mode that would deny or block the request.
    pub would_deny: Vec<String>,
    /// Largest cost that fits now; `None` if no limit applies.
    pub remaining: Option<u64>,
    /// The same for each rule that applies, also those in observe mode.
    pub remaining_by_rule: Vec<(String, u64)>,
    /// Wait until the request would fit.
    pub wait: Wait,
    /// Time until all usage has left its windows.
    pub reset_after_ms: Option<u64>,
}

/// Outcome of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StepOutcome {
    /// All limits had room.
    Allowed,
    /// Limits of these rules had none.
    Denied(Vec<String>),
    /// This rule refuses the request whatever its limits.
    Blocked(String, Blocked),
    /// No rule can judge the request.
    Invalid(String),
}

/// `allowed`, `denied by login`.
impl fmt::Display for StepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allowed => f.write_str("allowed"),
            Self::Denied(rules) => write!(f, "denied by {}", rules.join(", ")),
            Self::Blocked(rule, Blocked::DenyList) => write!(f, "blocked by {rule} (deny list)"),
            Self::Blocked(rule, Blocked::MissingKey) => write!(f, "blocked by {rule} (missing key)"),
            Self::Invalid(error) => write!(f, "an invalid request: {error}"),
        }
    }
}

impl StepAnswer {
    /// Answer of a gate with this policy.
    pub(super) fn new(policy: &Policy, request: &Request<'_>, answer: &Answer) -> Self {
        let outcome = match answer.blocked() {
            Some((rule, reason)) => StepOutcome::Blocked(rule.to_owned(), reason),
            None if answer.is_allowed() => StepOutcome::Allowed,
            None => StepOutcome::Denied(rules(answer.limits().filter(LimitAnswer::is_violated))),
        };
        let mut would_deny = rules(answer.observed().filter(LimitAnswer::is_violated));
        let mut applies = Vec::new();
        if let Ok(Choice::Hits(hits)) = policy.choose(request) {
            let name = |rule: usize| policy.rules()[rule].name().to_owned();
            applies = hits.iter().map(|hit| name(hit.rule)).collect();
            let is_dry_run = |mode| mode == HitMode::Observe && answer.is_allowed();
            let blocking = hits.iter().filter(|hit| hit.would_block.is_some() && is_dry_run(hit.mode));
            would_deny.extend(blocking.map(|hit| name(hit.rule)));
        }
        let summary = answer.summary();
        Self {
            outcome,
            rules: applies,
            would_deny,
            remaining: summary.remaining,
            remaining_by_rule: remaining_by_rule(answer.limits().chain(answer.observed())),
            wait: summary.wait,
            reset_after_ms: summary.reset_after_ms,
        }
    }

    /// Answer to an invalid request.
    pub(super) fn invalid(error: String) -> Self {
        Self {
            outcome: StepOutcome::Invalid(error),
            rules: Vec::new(),
            would_deny: Vec::new(),
            remaining: None,
            remaining_by_rule: Vec::new(),
            wait: Wait::None,
            reset_after_ms: None,
        }
    }
}

/// Names of the rules of these limits, each once.
fn rules<'a>(limits: impl Iterator<Item = LimitAnswer<'a>>) -> Vec<String> {
    let mut names: Vec<String> = limits.filter_map(|limit| limit.rule).map(str::to_owned).collect();
    names.dedup();
    names
}

/// Least remaining of the limits of each rule.
fn remaining_by_rule<'a>(limits: impl Iterator<Item = LimitAnswer<'a>>) -> Vec<(String, u64)> {
    let mut least: Vec<(String, u64)> = Vec::new();
    for limit in limits {
        let (Some(rule), remaining) = (limit.rule, limit.decision.remaining) else { continue };
        match least.iter_mut().find(|(name, _)| name == rule) {
            Some((_, current)) => *current = remaining.min(*current),
            None => least.push((rule.to_owned(), remaining)),
        }
    }
    least
}
