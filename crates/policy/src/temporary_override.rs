//! Temporary overrides: changes to rules that operators make for a while, besides the file.

use std::collections::HashMap;
use std::fmt;

use super::Policy;
use super::compile::{self, UsedNames};
use super::condition::Predicates;
use super::diagnostics::{Diagnostics, PolicyErrors};
use super::explain;
use super::file::{self, LimitEntry, Spanned};
use super::limit_set::LimitSet;
use super::rule::Rule;

mod read;

/// Temporary override: other limits for some requests of a rule, or an entry of its allow or deny
/// list.
///
/// ```
/// use slidegate::policy::{TemporaryOverride, Policy};
///
/// let policy = Policy::parse("policy.yaml", "
/// version: 1
/// rules: [{ name: search, key: [org], limits: [10/s] }]
/// ")?;
/// let more = TemporaryOverride::parse(r#"{"rule": "search", "when": {"org": "acme"}, "limits": ["50/s"]}"#)?;
/// assert_eq!(more.to_string(), "rule search, where org is acme: limits 50/s");
/// let with_override = policy.with(&[more])?;
/// # let _ = with_override;
/// # Ok::<(), slidegate::policy::PolicyErrors>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TemporaryOverride {
    pub(super) rule: Spanned<String>,
    pub(super) when: file::Conditions,
    pub(super) effect: Effect,
    pub(super) text: Box<str>,
}

/// Effect of a temporary override on the requests that it matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Effect {
    Limits(Spanned<Vec<LimitEntry>>),
    Allow,
    Deny,
}

/// Name of the source in errors.
const NAME: &str = "override";

impl TemporaryOverride {
    /// Reads JSON: `rule`, `when` with conditions as in a file (`{}`: all requests of the rule),
    /// and one of `limits`, `"allow": true` and `"deny": true`. Reports all errors.
    pub fn parse(text: &str) -> Result<Self, PolicyErrors> {
        let diagnostics = Diagnostics::new(NAME, text);
        let change = read::read(text, &diagnostics);
        diagnostics.into_result()?;
        Ok(change.expect("an invalid override was reported"))
    }

    /// Name of the rule.
    pub fn rule(&self) -> &str {
        self.rule.value.as_deref().unwrap_or_default()
    }

    /// JSON that it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// One line for people and logs.
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

/// Compiled additions to a rule.
#[derive(Default)]
struct Additions {
    overrides: Vec<(file::OverrideEntry, Predicates, LimitSet)>,
    allow: Vec<(file::Conditions, Predicates)>,
    deny: Vec<(file::Conditions, Predicates)>,
}

impl Policy {
    /// Policy with temporary overrides in front of the overrides and lists of its rules, the first
    /// given first. An error if one of them is invalid.
    ///
    /// Limits of a temporary override take precedence over the overrides and tiers of the rule, and
    /// continue with the same state. A request on the deny list of the rule stays denied. A request
    /// on its allow list stays allowed, unless a temporary override denies it.
    pub fn with(&self, overrides: &[TemporaryOverride]) -> Result<Policy, PolicyErrors> {
        let (policy, fits) = self.with_each(overrides);
        fits.into_iter().collect::<Result<(), _>>()?;
        Ok(policy)
    }

    /// Like [`Policy::with`], but leaves out overrides that do not fit these rules. The results say
    /// for each override whether it is active, or why not.
    pub fn with_each(&self, overrides: &[TemporaryOverride]) -> (Policy, Vec<Result<(), PolicyErrors>>) {
        let mut used = UsedNames::of(&self.rules);
        let mut added: HashMap<usize, Additions> = HashMap::new();
        let fits = overrides.iter().map(|change| {
            let diagnostics = Diagnostics::new(NAME, &change.text);
            self.add(change, &mut added, &mut used, &diagnostics);
            diagnostics.into_result()
        });
        let fits = fits.collect();
        let rules = self.rules.iter().enumerate().map(|(index, rule)| match added.remove(&index) {
            Some(added) => rule.with(added),
            None => rule.clone(),
        });
        let context = compile::FileContext { ipv6_prefix: self.ipv6_prefix, paths: self.paths };
        (compile::policy(rules.collect(), context), fits)
    }

    /// Adds an override, unless it is invalid.
    fn add(
        &self,
        change: &TemporaryOverride,
        to: &mut HashMap<usize, Additions>,
        used: &mut UsedNames,
        diagnostics: &Diagnostics,
    ) {
        let Some(&index) = self.by_name.get(change.rule()) else {
            let names: Vec<&str> = self.rules.iter().map(Rule::name).take(20).collect();
            let what = format!("unknown rule `{}`", change.rule().escape_debug());
            diagnostics.report(
                change.rule.at,
                what,
                format!("the policy has the rules {}", names.join(", ")),
            );
            return;
        };
        let rule = &self.rules[index];
        let when = compile::conditions_of(&change.when, &rule.templates, self.paths, diagnostics);
        let written = change.when.clone();
        match &change.effect {
            Effect::Limits(limits) => {
                let limit_set = compile::limit_set_of(limits, rule, used, diagnostics);
                if diagnostics.is_empty() {
                    let written = file::OverrideEntry { when: written, limits: limits.clone() };
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
    fn with(&self, added: Additions) -> Self {
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
        rule.entry.overrides = in_front(overrides_written, rule.entry.overrides);
        rule.entry.allow = in_front(allow_written, rule.entry.allow);
        rule.entry.deny = in_front(deny_written, rule.entry.deny);
        rule
    }
}

fn in_front<T>(mut first: Vec<T>, then: Vec<T>) -> Vec<T> {
    first.extend(then);
    first
}
