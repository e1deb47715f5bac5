//! Exceptions that hold for a while: what operators change beside the file.

use std::collections::HashMap;
use std::fmt;

use super::compile::{self, UsedNames};
use super::condition::Predicates;
use super::diagnostics::{Diagnostics, PolicyErrors};
use super::explain;
use super::file::{self, LimitEntry, Spanned};
use super::limit_set::LimitSet;
use super::rule::Rule;
use super::{Policy, read};

/// What a rule does otherwise for some of its requests, for a while.
///
/// ```
/// use slidegate::policy::{TemporaryOverride, Policy};
///
/// let (policy, _) = Policy::parse("policy.yaml", "
/// version: 1
/// rules: [{ name: search, key: [org], limits: [10/s] }]
/// ")?;
/// let exception = TemporaryOverride::parse(r#"{"rule": "search", "when": {"org": "acme"}, "limits": ["50/s"]}"#)?;
/// assert_eq!(exception.to_string(), "rule search, where org is acme: limits 50/s");
/// let meanwhile = policy.with(&[exception])?;
/// # let _ = meanwhile;
/// # Ok::<(), slidegate::policy::PolicyErrors>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemporaryOverride {
    pub(super) rule: Spanned<String>,
    pub(super) when: file::Conditions,
    pub(super) effect: Effect,
    pub(super) text: Box<str>,
}

/// What happens to a request that an exception is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Limits(Spanned<Vec<LimitEntry>>),
    Allow,
    Deny,
}

/// What the errors of an exception call it.
const NAME: &str = "override";

impl TemporaryOverride {
    /// From JSON: `rule`, `when` with conditions as in a file (`{}`: all requests of the rule), and one of `limits`,
    /// `"allow": true` and `"deny": true`. Or all that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(NAME, text);
        let exception = read::exception(text, &diagnostics);
        diagnostics.into_result()?;
        Ok(exception.expect("what is no exception was reported"))
    }

    /// The name of the rule.
    pub fn rule(&self) -> &str {
        self.rule.value.as_deref().unwrap_or_default()
    }

    /// The text that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// In a line, for people and logs.
impl fmt::Display for TemporaryOverride {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}, ", self.rule())?;
        match &*self.when.0 {
            [] => f.write_str("all requests: ")?,
            _ => write!(f, "where {}: ", explain::conditions(&self.when))?,
        }
        match &self.effect {
            Effect::Limits(limits) => {
                let limits = limits.value.iter().flatten().filter_map(|entry| entry.limit);
                let limits: Vec<String> = limits.map(|limit| limit.to_string()).collect();
                write!(f, "limits {}", limits.join(", "))
            }
            Effect::Allow => f.write_str("allow"),
            Effect::Deny => f.write_str("deny"),
        }
    }
}

/// What exceptions add to a rule, ready to be asked.
#[derive(Default)]
struct Added {
    overrides: Vec<(file::Override, Predicates, LimitSet)>,
    allow: Vec<(file::Conditions, Predicates)>,
    deny: Vec<(file::Conditions, Predicates)>,
}

impl Policy {
    /// The same rules with exceptions in front of their own, the first given first; or what is wrong with the first that
    /// is not right.
    ///
    /// Limits go before the rule's own overrides and tiers, and count on the same history. What the rule's deny list names stays
    /// refused, whatever is allowed for a while, and what its allow list names stays allowed unless it is denied.
    pub fn with(&self, exceptions: &[TemporaryOverride]) -> Result<Policy, PolicyErrors> {
        let (policy, fits) = self.with_each(exceptions);
        fits.into_iter().collect::<Result<(), _>>()?;
        Ok(policy)
    }

    /// The same, without those that do not fit these rules. For every exception it says whether it is in force, or why not.
    pub fn with_each(&self, exceptions: &[TemporaryOverride]) -> (Policy, Vec<Result<(), PolicyErrors>>) {
        let mut used = UsedNames::of(&self.rules);
        let mut added: HashMap<usize, Added> = HashMap::new();
        let fits = exceptions.iter().map(|exception| {
            let diagnostics = Diagnostics::new(NAME, &exception.text);
            self.add(exception, &mut added, &mut used, &diagnostics);
            diagnostics.into_result()
        });
        let fits = fits.collect();
        let rules = self.rules.iter().enumerate().map(|(index, rule)| match added.remove(&index) {
            Some(added) => rule.with(added),
            None => rule.clone(),
        });
        (compile::policy(rules.collect(), self.paths), fits)
    }

    /// Adds an exception, unless something is wrong with it.
    fn add(
        &self,
        exception: &TemporaryOverride,
        to: &mut HashMap<usize, Added>,
        used: &mut UsedNames,
        diagnostics: &Diagnostics,
    ) {
        let Some(&index) = self.by_name.get(exception.rule()) else {
            let names: Vec<&str> = self.rules.iter().map(Rule::name).take(20).collect();
            let what = format!("no rule is called `{}`", exception.rule().escape_debug());
            diagnostics.report(
                exception.rule.at,
                what,
                format!("name a rule of the policy: {}", names.join(", ")),
            );
            return;
        };
        let rule = &self.rules[index];
        let when = compile::conditions_of(&exception.when, &rule.templates, self.paths, diagnostics);
        let written = exception.when.clone();
        match &exception.effect {
            Effect::Limits(limits) => {
                let limit_set = compile::limit_set_of(limits, rule, used, diagnostics);
                if diagnostics.is_empty() {
                    let written = file::Override { when: written, limits: limits.clone() };
                    to.entry(index).or_default().overrides.push((written, when, limit_set));
                }
            }
            _ if !diagnostics.is_empty() => {}
            Effect::Allow => to.entry(index).or_default().allow.push((written, when)),
            Effect::Deny => to.entry(index).or_default().deny.push((written, when)),
        }
    }
}

impl Rule {
    fn with(&self, added: Added) -> Self {
        let mut rule = self.clone();
        let (allow_written, allow) = added.allow.into_iter().unzip();
        let (deny_written, deny) = added.deny.into_iter().unzip();
        let (mut overrides_written, mut overrides, mut limit_set) = (Vec::new(), Vec::new(), Vec::new());
        for (written, when, of) in added.overrides {
            overrides_written.push(written);
            overrides.push(when);
            limit_set.push(of);
        }
        let own = std::mem::take(&mut rule.limit_sets).into_vec();
        let mut own = own.into_iter();
        rule.limit_sets =
            own.by_ref().take(1).chain(limit_set).collect::<Vec<_>>().into_iter().chain(own).collect();
        rule.overrides = in_front(overrides, rule.overrides.into_vec()).into();
        rule.allow = in_front(allow, rule.allow.into_vec()).into();
        rule.deny = in_front(deny, rule.deny.into_vec()).into();
        rule.written.overrides = in_front(overrides_written, rule.written.overrides);
        rule.written.allow = in_front(allow_written, rule.written.allow);
        rule.written.deny = in_front(deny_written, rule.written.deny);
        rule
    }
}

fn in_front<T>(mut first: Vec<T>, then: Vec<T>) -> Vec<T> {
    first.extend(then);
    first
}
