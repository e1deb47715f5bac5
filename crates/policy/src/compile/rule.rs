//! One rule of a file, made ready to be asked.

use super::super::diagnostics::Diagnostics;
use super::super::file::{self, Span};
use super::super::limit_set::Terms;
use super::super::readings::PathRules;
use super::super::rule::{Mode, Rule};
use super::conditions::In;
use super::{Seen, conditions, key, limits};
use slidegate_store::Space;

const MAX_NAME: usize = 64;

/// What the file says of all its rules.
#[derive(Clone, Copy)]
pub(super) struct Of {
    pub(super) ipv6_prefix: u8,
    pub(super) paths: PathRules,
}

pub(super) fn compile(written: file::Rule, of: Of, seen: &mut Seen, diagnostics: &Diagnostics) -> Rule {
    let name: Box<str> = written.name.value.as_deref().unwrap_or_default().into();
    check_name(&written, seen, diagnostics);
    let (templates, matches) = conditions::of_match(&written.matches, of.paths, diagnostics);
    let within = In { templates: &templates, paths: of.paths };
    let overrides = written.overrides.iter().map(|other| &other.when).cloned().collect::<Vec<_>>();
    for other in written.overrides.iter().filter(|other| seen.read_all && other.when.0.is_empty()) {
        let help = "say for which requests in `when`; limits for all of them are the rule's own";
        diagnostics.report(other.limits.at, "an override without conditions", help);
    }
    Rule {
        space: Space::named(&name),
        matches,
        key: key::compile(&written.key, &templates, of.ipv6_prefix, diagnostics),
        terms: terms(&name, &written, seen, diagnostics),
        overrides: conditions::list(&overrides, within, diagnostics),
        tiers: written.tiers.keys().map(|tier| tier.as_str().into()).collect(),
        allow: conditions::list(&written.allow, within, diagnostics),
        deny: conditions::list(&written.deny, within, diagnostics),
        mode: mode(&written.mode, written.name.at, within, diagnostics),
        name,
        templates,
        written,
    }
}

/// A name is once in a file, and safe in headers, metrics and addresses.
fn check_name(written: &file::Rule, seen: &mut Seen, diagnostics: &Diagnostics) {
    let Some(name) = &written.name.value else { return };
    let at = written.name.at;
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_fine) {
        let help = format!("use 1 to {MAX_NAME} letters, digits and `_ . : -`");
        diagnostics.report(at, format!("`{}` is no name for a rule", name.escape_debug()), help);
    } else if let Some(first) = seen.rules.get(name) {
        let what = format!("a rule called `{name}` is already in line {}", diagnostics.line(*first));
        diagnostics.report(at, what, "give every rule a name of its own");
    } else {
        seen.rules.insert(name.clone(), at);
    }
}

fn terms(name: &str, written: &file::Rule, seen: &mut Seen, diagnostics: &Diagnostics) -> Box<[Terms]> {
    let of = limits::Of { name, refundable: written.refundable };
    let overrides = written.overrides.iter().map(|other| &other.limits);
    let sets = std::iter::once(&written.limits).chain(overrides).chain(written.tiers.values());
    sets.map(|set| limits::compile(set, of, seen, diagnostics)).collect()
}

fn mode(written: &file::Mode, at: Span, within: In<'_>, diagnostics: &Diagnostics) -> Mode {
    match written {
        file::Mode::Enforce => Mode::Enforce,
        file::Mode::Observe => Mode::Observe,
        file::Mode::Share(share) => Mode::Share(*share),
        file::Mode::For(list) => {
            if list.is_empty() {
                let help = "list for whom, as in `enforce_for: [{ org: acme }]`, or write `mode: observe`";
                diagnostics.report(at, "`enforce_for` is empty, so that the rule refuses nobody", help);
            }
            Mode::For(conditions::list(list, within, diagnostics))
        }
    }
}
