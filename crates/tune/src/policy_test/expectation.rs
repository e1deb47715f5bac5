//! Expectation of an answer, and how an answer differs from it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use slidegate::Wait;
use slidegate::policy::Diagnostics;
use slidegate::policy::file::{Span, Spanned};
use slidegate::policy::format::{Fields, Format, Schemas, expected, json, keyword, schema};
use slidegate::policy::yaml::{Kind, Node};

use super::answer::{StepAnswer, StepOutcome};

/// Expectation of an answer. What it does not mention may be anything.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Expectation {
    outcome: Option<ExpectedOutcome>,
    /// Rules that apply.
    rules: Option<Vec<RuleName>>,
    would_deny: Option<Vec<RuleName>>,
    remaining: Option<ExpectedRemaining>,
    wait: Option<Wait>,
    reset_after_ms: Option<u64>,
}

/// Outcome that is expected.
#[derive(Clone, PartialEq, Eq, Debug)]
enum ExpectedOutcome {
    Allowed,
    /// By these rules, or by any.
    Denied(Option<Vec<RuleName>>),
    /// By this rule, or by any.
    Blocked(Option<RuleName>),
}

/// Remaining quota that is expected.
#[derive(Clone, PartialEq, Eq, Debug)]
enum ExpectedRemaining {
    Request(u64),
    ByRule(Vec<(RuleName, u64)>),
}

/// Name of a rule, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RuleName {
    pub(super) at: Span,
    pub(super) name: String,
}

/// Difference between an expectation and an answer, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// What the test expects.
    pub expected: String,
    /// What the policy does instead.
    pub actual: String,
}

slidegate::policy::section! {
    /// Expectations of an answer. What is not mentioned may be anything.
    struct ExpectEntry: "an expectation" as "Expectation" {
        /// Whether the request is allowed.
        allowed: Option<bool>;
        /// Rules that deny it: all of them, and no other.
        denied: Option<Vec<Spanned<String>>>;
        /// Rule that blocks it, by its deny list or for a missing key.
        blocked: Option<Spanned<String>>;
        /// Rules in observe mode that would deny it: all of them, and no other.
        would_deny: Option<Vec<Spanned<String>>>;
        /// Rules that apply to it: all of them, and no other.
        rules: Option<Vec<Spanned<String>>>;
        /// Largest cost that fits afterwards: of the request, or rule by rule.
        remaining: Option<ExpectedRemaining>;
        /// Exact wait until it would fit, or `never`.
        retry_after: Option<RetryAfter>;
        /// Longest wait until an in-flight slot frees itself.
        retry_after_at_most: Option<Duration>;
        /// Time until all usage has left its windows.
        reset_after: Option<Duration>;
    }
    then check_together;
}

fn check_together(entry: &mut ExpectEntry, fields: &Fields<'_>) {
    let is_empty = *entry == ExpectEntry::default();
    if is_empty {
        fields.report(fields.head(), "empty expectation", "write `allowed`, or `{ denied: [login] }`");
    }
    let refused = [entry.denied.is_some(), entry.blocked.is_some(), entry.allowed.is_some()];
    if refused.iter().filter(|stated| **stated).count() > 1 {
        let help = "keep one of `allowed`, `denied` and `blocked`";
        fields.report(fields.head(), "contradictory outcomes", help);
    }
    if entry.denied.as_ref().is_some_and(Vec::is_empty) {
        let at = fields.find("denied").map_or(fields.head(), |entry| entry.value.at);
        fields.report(at, "empty list of rules", "name the rules that deny it, or write `allowed: true`");
    }
    if entry.retry_after.is_some() && entry.retry_after_at_most.is_some() {
        let help = "keep one: `retry_after_at_most` is for in-flight limits";
        fields.report(fields.head(), "`retry_after` and `retry_after_at_most` cannot be combined", help);
    }
}

/// Exact wait, or none at all.
struct RetryAfter;

impl Format for RetryAfter {
    type Value = Wait;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Wait> {
        match &node.kind {
            Kind::Scalar { text, .. } if text == "never" => Some(Wait::Never),
            _ => Duration::read(node, diagnostics).map(|wait| Wait::After(millis(wait))),
        }
    }

    fn schema(schemas: &mut Schemas) -> schema::Value {
        json!({ "anyOf": [Duration::schema(schemas), { "const": "never" }] })
    }
}

impl Format for ExpectedRemaining {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            return u64::read(node, diagnostics).map(Self::Request);
        };
        let entries = entries.iter().filter_map(|entry| {
            let rule = RuleName { at: entry.key_at, name: entry.key.clone() };
            Some((rule, u64::read(&entry.value, diagnostics)?))
        });
        Some(Self::ByRule(entries.collect()))
    }

    fn schema(schemas: &mut Schemas) -> schema::Value {
        let count = u64::schema(schemas);
        json!({ "anyOf": [count, { "type": "object", "additionalProperties": count }] })
    }
}

impl Format for Expectation {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        const HELP: &str = "write `allowed`, `denied`, `blocked`, or fields as in `{ denied: [login] }`";
        match &node.kind {
            Kind::Mapping(_) => ExpectEntry::read(node, diagnostics).map(Self::from),
            Kind::Scalar { .. } => {
                let words = [
                    ("allowed", OutcomeWord::Allowed),
                    ("denied", OutcomeWord::Denied),
                    ("blocked", OutcomeWord::Blocked),
                ];
                let outcome = match keyword(node, &words, diagnostics)? {
                    OutcomeWord::Allowed => ExpectedOutcome::Allowed,
                    OutcomeWord::Denied => ExpectedOutcome::Denied(None),
                    OutcomeWord::Blocked => ExpectedOutcome::Blocked(None),
                };
                Some(Self { outcome: Some(outcome), ..Self::default() })
            }
            _ => {
                expected(node, "an expectation", HELP, diagnostics);
                None
            }
        }
    }

    fn schema(schemas: &mut Schemas) -> schema::Value {
        json!({ "anyOf": [{ "enum": ["allowed", "denied", "blocked"] }, ExpectEntry::schema(schemas)] })
    }
}

/// Outcome in one word.
#[derive(Clone, Copy)]
enum OutcomeWord {
    Allowed,
    Denied,
    Blocked,
}

impl From<ExpectEntry> for Expectation {
    fn from(entry: ExpectEntry) -> Self {
        let name = |name: Spanned<String>| RuleName { at: name.at, name: name.value.unwrap_or_default() };
        let names = |all: Vec<Spanned<String>>| all.into_iter().map(name).collect();
        let outcome = match (entry.allowed, entry.denied, entry.blocked) {
            (_, Some(rules), _) => Some(ExpectedOutcome::Denied(Some(names(rules)))),
            (_, _, Some(rule)) => Some(ExpectedOutcome::Blocked(Some(name(rule)))),
            (Some(true), ..) => Some(ExpectedOutcome::Allowed),
            (Some(false), ..) => Some(ExpectedOutcome::Denied(None)),
            (None, None, None) => None,
        };
        let at_most = entry.retry_after_at_most.map(|wait| Wait::Within(millis(wait)));
        Self {
            outcome,
            rules: entry.rules.map(names),
            would_deny: entry.would_deny.map(names),
            remaining: entry.remaining,
            wait: entry.retry_after.or(at_most),
            reset_after_ms: entry.reset_after.map(millis),
        }
    }
}

impl Expectation {
    /// Every rule that it names.
    pub(super) fn rules(&self) -> impl Iterator<Item = &RuleName> {
        let outcome: &[RuleName] = match &self.outcome {
            Some(ExpectedOutcome::Denied(Some(rules))) => rules,
            Some(ExpectedOutcome::Blocked(Some(rule))) => std::slice::from_ref(rule),
            _ => &[],
        };
        let remaining: &[(RuleName, u64)] = match &self.remaining {
            Some(ExpectedRemaining::ByRule(rules)) => rules,
            _ => &[],
        };
        let lists = self.rules.iter().chain(&self.would_deny).flatten();
        outcome.iter().chain(lists).chain(remaining.iter().map(|(rule, _)| rule))
    }

    /// Difference in the outcome, which every request of a step has to have.
    pub(super) fn outcome_mismatch(&self, answer: &StepAnswer) -> Option<Mismatch> {
        let expected = self.outcome.as_ref()?;
        let is_met = match (expected, &answer.outcome) {
            (ExpectedOutcome::Allowed, StepOutcome::Allowed)
            | (ExpectedOutcome::Denied(None), StepOutcome::Denied(_))
            | (ExpectedOutcome::Blocked(None), StepOutcome::Blocked(..)) => true,
            (ExpectedOutcome::Denied(Some(rules)), StepOutcome::Denied(actual)) => is_same(rules, actual),
            (ExpectedOutcome::Blocked(Some(rule)), StepOutcome::Blocked(actual, _)) => rule.name == *actual,
            _ => false,
        };
        let text = match expected {
            ExpectedOutcome::Allowed => "allowed".to_owned(),
            ExpectedOutcome::Denied(None) => "denied".to_owned(),
            ExpectedOutcome::Denied(Some(rules)) => format!("denied by {}", list(rules)),
            ExpectedOutcome::Blocked(None) => "blocked".to_owned(),
            ExpectedOutcome::Blocked(Some(rule)) => format!("blocked by {}", rule.name),
        };
        (!is_met).then(|| Mismatch { expected: text, actual: answer.outcome.to_string() })
    }

    /// Differences in all but the outcome.
    pub(super) fn mismatches(&self, answer: &StepAnswer) -> Vec<Mismatch> {
        let mut found = Vec::new();
        let mut compare = |is_met: bool, name: &str, expected: String, actual: String| {
            if !is_met {
                let text = |value: &str| format!("{name} {value}");
                found.push(Mismatch { expected: text(&expected), actual: text(&actual) });
            }
        };
        if let Some(rules) = &self.rules {
            let actual = &answer.rules;
            compare(is_same(rules, actual), "rules", list(rules), names(actual));
        }
        if let Some(rules) = &self.would_deny {
            let actual = &answer.would_deny;
            compare(is_same(rules, actual), "would_deny", list(rules), names(actual));
        }
        match &self.remaining {
            Some(ExpectedRemaining::Request(count)) => {
                let actual = answer
                    .remaining
                    .map_or_else(|| "none: no limit applies".to_owned(), |actual| actual.to_string());
                compare(answer.remaining == Some(*count), "remaining", count.to_string(), actual);
            }
            Some(ExpectedRemaining::ByRule(rules)) => {
                let actual: BTreeMap<&str, u64> =
                    answer.remaining_by_rule.iter().map(|(name, count)| (&**name, *count)).collect();
                for (RuleName { name, .. }, count) in rules {
                    let actual = actual.get(&**name);
                    let text =
                        actual.map_or_else(|| "none: the rule was not consulted".to_owned(), u64::to_string);
                    compare(actual == Some(count), &format!("remaining of {name}"), count.to_string(), text);
                }
            }
            None => {}
        }
        if let Some(wait) = self.wait {
            let name = if matches!(wait, Wait::Within(_)) { "retry_after_at_most" } else { "retry_after" };
            compare(answer.wait == wait, name, wait_text(wait, wait), wait_text(answer.wait, wait));
        }
        if let Some(ms) = self.reset_after_ms {
            let actual = answer.reset_after_ms.map_or_else(|| "none".to_owned(), duration);
            compare(answer.reset_after_ms == Some(ms), "reset_after", duration(ms), actual);
        }
        found
    }
}

fn is_same(expected: &[RuleName], actual: &[String]) -> bool {
    let expected: BTreeSet<&str> = expected.iter().map(|rule| &*rule.name).collect();
    expected == actual.iter().map(String::as_str).collect()
}

fn list(rules: &[RuleName]) -> String {
    names(&rules.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>())
}

fn names(rules: &[String]) -> String {
    if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
}

/// A wait beside one of the expected kind.
fn wait_text(wait: Wait, expected: Wait) -> String {
    match (wait, expected) {
        (Wait::None, _) => "none: the request fits".to_owned(),
        (Wait::Never, _) => "never".to_owned(),
        (Wait::After(ms), Wait::Within(_)) => format!("none, but exactly {}", duration(ms)),
        (Wait::Within(ms), Wait::After(_) | Wait::Never | Wait::None) => {
            format!("none, but at most {}", duration(ms))
        }
        (Wait::After(ms) | Wait::Within(ms), _) => duration(ms),
    }
}

/// Duration as in the file.
pub(super) fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
