//! Compilation of a rule.

use super::super::diagnostics::Diagnostics;
use super::super::file::{self, Span};
use super::super::limit_set::LimitSet;
use super::super::path_readings::PathRules;
use super::super::rule::{Enforcement, Rule};
use super::conditions::RuleContext;
use super::{UsedNames, conditions, key, limits};
use slidegate_store::Space;

const MAX_NAME: usize = 64;

/// Settings of the file that apply to all rules.
#[derive(Clone, Copy)]
pub(crate) struct FileContext {
    pub(crate) ipv6_prefix: u8,
    pub(crate) paths: PathRules,
}

pub(super) fn compile(
    entry: file::RuleEntry,
    of: FileContext,
    used: &mut UsedNames,
    diagnostics: &Diagnostics,
) -> Rule {
    let name: Box<str> = entry.name.value.as_deref().unwrap_or_default().into();
    check_name(&entry, used, diagnostics);
    let (templates, matches) = conditions::of_match(&entry.matches, of.paths, diagnostics);
    let context = RuleContext { templates: &templates, paths: of.paths };
    let overrides = entry.overrides.iter().map(|other| &other.when).cloned().collect::<Vec<_>>();
    for other in entry.overrides.iter().filter(|other| used.has_all_rules && other.when.0.is_empty()) {
        let help = "add a condition to `when`; for all requests change the `limits` of the rule";
        diagnostics.report(other.limits.at, "override without conditions", help);
    }
    Rule {
        space: Space::named(&name),
        matches,
        key: key::compile(&entry.key, &templates, of.ipv6_prefix, diagnostics),
        limit_sets: limit_sets(&name, &entry, used, diagnostics),
        overrides: conditions::list(&overrides, context, diagnostics),
        tiers: entry.tiers.keys().map(|tier| tier.as_str().into()).collect(),
        allow: conditions::list(&entry.allow, context, diagnostics),
        deny: conditions::list(&entry.deny, context, diagnostics),
        mode: mode(&entry.mode, entry.name.at, context, diagnostics),
        name,
        templates,
        entry,
    }
}

/// Checks the name of a rule: unique in the file, and safe in headers, metrics and URLs.
fn check_name(entry: &file::RuleEntry, used: &mut UsedNames, diagnostics: &Diagnostics) {
    let Some(name) = &entry.name.value else { return };
    let at = entry.name.at;
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_fine) {
        let help = format!("use 1 to {MAX_NAME} letters, digits and `_`, `.`, `:`, `-`");
        diagnostics.report(at, format!("invalid rule name `{}`", name.escape_debug()), help);
    } else if let Some(first) = used.rules.get(name) {
        let what = format!("duplicate rule name `{name}`: first on line {}", diagnostics.line(*first));
        diagnostics.report(at, what, "give each rule a unique name");
    } else {
        used.rules.insert(name.clone(), at);
    }
}

fn limit_sets(
    name: &str,
    entry: &file::RuleEntry,
    used: &mut UsedNames,
    diagnostics: &Diagnostics,
) -> Box<[LimitSet]> {
    let of = limits::LimitContext { name, refundable: entry.refundable };
    let overrides = entry.overrides.iter().map(|other| &other.limits);
    let sets = std::iter::once(&entry.limits).chain(overrides).chain(entry.tiers.values());
    sets.map(|set| limits::compile(set, of, used, diagnostics)).collect()
}

fn mode(entry: &file::Mode, at: Span, context: RuleContext<'_>, diagnostics: &Diagnostics) -> Enforcement {
    match entry {
        file::Mode::Enforce => Enforcement::Enforce,
        file::Mode::Observe => Enforcement::Observe,
        file::Mode::Share(share) => Enforcement::Share(*share),
        file::Mode::For(list) => {
            if list.is_empty() {
                let help = "add conditions, as in `enforce_for: [{ org: acme }]`, or write `mode: observe`";
                diagnostics.report(at, "empty `enforce_for`: the rule would deny nothing", help);
            }
            Enforcement::For(conditions::list(list, context, diagnostics))
        }
    }
}
