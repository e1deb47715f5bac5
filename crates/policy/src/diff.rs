//! Differences between two policies, for people and logs.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::explain;
use super::file::{Condition, Conditions, LimitEntry, Mode, OverrideEntry, Spanned, Test};
use super::path_readings::PathRules;
use super::request_view::{IP, METHOD, PATH};
use super::{Policy, Rule};

/// Something that is different. Of what conditions compare with only paths, methods and addresses
/// are shown: the rest may be the keys of clients.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Change {
    /// New rule.
    Added {
        /// Name.
        rule: String,
        /// Limits.
        limits: String,
    },
    /// Removed rule.
    Removed {
        /// Name.
        rule: String,
    },
    /// Changed rule.
    Changed {
        /// Name.
        rule: String,
        /// Description: `limits 5/min -> 10/min`.
        what: String,
    },
    /// Changed order of the rules, which is that of reports.
    Order,
    /// Changed normalization of paths.
    Paths {
        /// Whether case is ignored now.
        ignore_case: bool,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added { rule, limits } => write!(f, "rule {rule} was added: {limits}"),
            Self::Removed { rule } => write!(f, "rule {rule} was removed"),
            Self::Changed { rule, what } => write!(f, "rule {rule}: {what}"),
            Self::Order => f.write_str("the rules are in another order"),
            Self::Paths { ignore_case } => write!(f, "paths: ignore_case {} -> {ignore_case}", !ignore_case),
        }
    }
}

impl Policy {
    /// Differences to another policy, rule by rule.
    pub fn diff(&self, to: &Policy) -> Vec<Change> {
        let name = |rule: &Rule| rule.name.to_string();
        let removed = self.rules.iter().filter(|rule| !to.by_name.contains_key(&rule.name));
        let mut changes: Vec<Change> = removed.map(|rule| Change::Removed { rule: name(rule) }).collect();
        for rule in &to.rules {
            match self.by_name.get(&rule.name) {
                None => {
                    let limits = limits(&rule.entry.limits, Detail::Short);
                    changes.push(Change::Added { rule: name(rule), limits });
                }
                Some(&index) => {
                    let changed = self.rules[index].changes(rule).into_iter();
                    changes.extend(changed.map(|what| Change::Changed { rule: name(rule), what }));
                }
            }
        }
        let common = |of: &Policy, other: &Policy| -> Vec<Box<str>> {
            let names = of.rules.iter().map(|rule| rule.name.clone());
            names.filter(|name| other.by_name.contains_key(name)).collect()
        };
        if common(self, to) != common(to, self) {
            changes.push(Change::Order);
        }
        let PathRules { ignore_case } = to.paths;
        if self.paths.ignore_case != ignore_case {
            changes.push(Change::Paths { ignore_case });
        }
        changes
    }
}

impl Rule {
    fn changes(&self, to: &Rule) -> Vec<String> {
        let (from, to_written) = (&self.entry, &to.entry);
        let mut changes = Vec::new();
        if condition_key(&from.matches) != condition_key(&to_written.matches) {
            changes.push(arrow("match", [render(&from.matches), render(&to_written.matches)]));
        }
        let keys = [from, to_written].map(|rule| explain::key(&rule.key));
        differs(&mut changes, "key", keys);
        differs(&mut changes, "ipv6_prefix", [self, to].map(|rule| rule.key.ipv6_prefix.to_string()));
        limits_differ(&mut changes, "limits", [&from.limits, &to_written.limits]);
        let missing = [from, to_written].map(|rule| explain::missing(rule).to_owned());
        differs(&mut changes, "missing", missing);
        overrides(&mut changes, self, to);
        tiers(&mut changes, self, to);
        list(&mut changes, "allow", [&from.allow, &to_written.allow]);
        list(&mut changes, "deny", [&from.deny, &to_written.deny]);
        mode(&mut changes, [&from.mode, &to_written.mode]);
        let errors = [from, to_written].map(|rule| explain::on_store_error(rule.on_store_error).to_owned());
        differs(&mut changes, "on_store_error", errors);
        differs(&mut changes, "refundable", [from, to_written].map(|rule| rule.refundable.to_string()));
        changes
    }
}

fn arrow(what: &str, [from, to]: [String; 2]) -> String {
    if from == to { format!("{what} changed") } else { format!("{what} {from} -> {to}") }
}

fn differs(changes: &mut Vec<String>, what: &str, both: [String; 2]) {
    if both[0] != both[1] {
        changes.push(arrow(what, both));
    }
}

type Limits = Spanned<Vec<LimitEntry>>;

fn limits_differ(changes: &mut Vec<String>, what: &str, both: [&Limits; 2]) {
    let full = both.map(|written| limits(written, Detail::Full));
    if full[0] != full[1] {
        let short = both.map(|written| limits(written, Detail::Short));
        changes.push(arrow(what, if short[0] == short[1] { full } else { short }));
    }
}

#[derive(Clone, Copy)]
enum Detail {
    /// Short form.
    Short,
    /// With resolution and name.
    Full,
}

fn limits(written: &Limits, how: Detail) -> String {
    let each = written.value.iter().flatten().filter_map(|LimitEntry { limit, name, .. }| {
        let limit = (*limit)?;
        Some(match (how, name) {
            (Detail::Short, _) => limit.to_string(),
            (Detail::Full, None) => format!("{limit} ({} ms)", limit.resolution_ms()),
            (Detail::Full, Some(name)) => format!("{limit} ({} ms, {name})", limit.resolution_ms()),
        })
    });
    each.collect::<Vec<_>>().join(", ")
}

fn overrides(changes: &mut Vec<String>, from: &Rule, to: &Rule) {
    let (old, new) = (ranked(&from.entry.overrides), ranked(&to.entry.overrides));
    let (by_old, by_new): (HashMap<_, _>, HashMap<_, _>) =
        (old.iter().cloned().collect(), new.iter().cloned().collect());
    for (_, gone) in old.iter().filter(|(name, _)| !by_new.contains_key(name)) {
        changes.push(format!("override where {} was removed", render(&gone.when)));
    }
    for (name, one) in &new {
        let what = format!("override where {}", render(&one.when));
        match by_old.get(name) {
            None => changes.push(format!("{what} was added: {}", limits(&one.limits, Detail::Short))),
            Some(other) => limits_differ(changes, &format!("{what}: limits"), [&other.limits, &one.limits]),
        }
    }
    // Which of two comes first matters, if both fit.
    let common_old = old.iter().map(|(name, _)| name).filter(|name| by_new.contains_key(name));
    if common_old.ne(new.iter().map(|(name, _)| name).filter(|name| by_old.contains_key(name))) {
        changes.push("overrides are in another order".to_owned());
    }
}

/// Overrides by their conditions and the number of earlier ones with the same conditions.
fn ranked(overrides: &[OverrideEntry]) -> Vec<((ConditionKey<'_>, usize), &OverrideEntry)> {
    let mut used: HashMap<ConditionKey<'_>, usize> = HashMap::new();
    let each = overrides.iter().map(|one| {
        let before = used.entry(condition_key(&one.when)).and_modify(|count| *count += 1).or_insert(0);
        ((condition_key(&one.when), *before), one)
    });
    each.collect()
}

fn tiers(changes: &mut Vec<String>, from: &Rule, to: &Rule) {
    let (old, new) = (&from.entry.tiers, &to.entry.tiers);
    for gone in old.keys().filter(|tier| !new.contains_key(*tier)) {
        changes.push(format!("tier {gone} was removed"));
    }
    for (tier, written) in new {
        match old.get(tier) {
            None => changes.push(format!("tier {tier} was added: {}", limits(written, Detail::Short))),
            Some(other) => limits_differ(changes, &format!("tier {tier}: limits"), [other, written]),
        }
    }
}

fn list(changes: &mut Vec<String>, what: &str, [old, new]: [&[Conditions]; 2]) {
    let missing = |some: &[Conditions], of: &[Conditions]| -> Vec<String> {
        let keys: HashSet<ConditionKey<'_>> = some.iter().map(condition_key).collect();
        of.iter().filter(|one| !keys.contains(&condition_key(one))).map(render).collect()
    };
    changes.extend(missing(new, old).iter().map(|gone| format!("{what} where {gone} was removed")));
    changes.extend(missing(old, new).iter().map(|one| format!("{what} where {one} was added")));
}

fn mode(changes: &mut Vec<String>, [old, new]: [&Mode; 2]) {
    match (old, new) {
        (Mode::For(old), Mode::For(new)) => list(changes, "mode: enforced", [old, new]),
        _ => differs(changes, "mode", [old, new].map(render_mode)),
    }
}

fn render_mode(mode: &Mode) -> String {
    match mode {
        Mode::For(list) => {
            let list: Vec<String> = list.iter().map(render).collect();
            format!("enforced where {}", list.join(", or "))
        }
        other => explain::mode(other),
    }
}

/// Conditions without positions, for comparison.
type ConditionKey<'a> = Vec<(&'a str, TestKind, Vec<&'a str>)>;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum TestKind {
    Is,
    Prefix,
}

fn condition_key(Conditions(all): &Conditions) -> ConditionKey<'_> {
    let each = all.iter().map(|Condition { attribute, test, .. }| {
        let (kind, spots) = match test {
            Test::Is(spots) => (TestKind::Is, spots),
            Test::Prefix(spots) => (TestKind::Prefix, spots),
        };
        (attribute.as_str(), kind, spots.iter().filter_map(|spot| spot.value.as_deref()).collect())
    });
    each.collect()
}

fn render(conditions: &Conditions) -> String {
    let Conditions(mut all) = conditions.clone();
    for Condition { attribute, test, .. } in &mut all {
        if ![PATH, METHOD, IP].contains(&attribute.as_str()) {
            let (Test::Is(spots) | Test::Prefix(spots)) = test;
            *spots = vec![Spanned::of("…".to_owned())];
        }
    }
    explain::conditions(&Conditions(all))
}
