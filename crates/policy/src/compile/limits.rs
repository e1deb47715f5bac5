//! The sets of limits of a rule.

use super::super::diagnostics::Diagnostics;
use super::super::file::{LimitEntry, Spanned};
use super::super::limit_set::{self, LimitSet};
use super::UsedNames;
use slidegate_core::{Limit, LimitKind};
use slidegate_store::MAX_LIMITS;

/// Longer names would not fit a line of headers.
const MAX_NAME: usize = 64;

/// A rule, as far as its limits are concerned.
#[derive(Clone, Copy)]
pub(super) struct LimitContext<'a> {
    pub(super) name: &'a str,
    pub(super) refundable: bool,
}

pub(super) fn compile(
    written: &Spanned<Vec<LimitEntry>>,
    of: LimitContext<'_>,
    used: &mut UsedNames,
    diagnostics: &Diagnostics,
) -> LimitSet {
    let entries = written.value.as_deref().unwrap_or_default();
    if written.value.is_some() && entries.is_empty() {
        diagnostics.report(
            written.at,
            "there are no limits",
            "give at least one, such as `limits: [\"5/min\"]`",
        );
    }
    if entries.len() > MAX_LIMITS {
        let help = format!("at most {MAX_LIMITS} are decided together");
        diagnostics.report(written.at, format!("{} limits in one set", entries.len()), help);
    }
    check_histories(entries, diagnostics);
    if of.refundable {
        check_refundable(entries, diagnostics);
    }
    let mut named: Vec<(Limit, Box<str>)> = Vec::new();
    for entry in entries {
        check_name(entry, diagnostics);
        let Some(limit) = entry.limit else { continue };
        let name = limit_set::name(of.name, &limit, entry.name.as_deref());
        let is_taken = named.iter().any(|(_, known)| *known == name)
            || **used.limits.entry(name.clone()).or_insert(of.name.into()) != *of.name;
        if is_taken {
            let what = format!("another limit is called `{name}` in answers, too");
            diagnostics.report(entry.at, what, "give one of them another `name`");
        }
        named.push((limit, name));
    }
    LimitSet::new(named)
}

/// Limits of one kind and window are one history, unless they have names.
fn check_histories(entries: &[LimitEntry], diagnostics: &Diagnostics) {
    for (index, entry) in entries.iter().enumerate() {
        let Some(limit) = entry.limit else { continue };
        let is_same = |other: &&LimitEntry| other.limit.is_some_and(|other| other.id() == limit.id());
        if let Some(other) = entries[..index].iter().find(is_same) {
            let line = diagnostics.line(other.at);
            let what = format!("`{limit}` would share its history with the limit in line {line}");
            diagnostics.report(entry.at, what, "give one of them a `name`, or another window or algorithm");
        }
    }
}

fn check_refundable(entries: &[LimitEntry], diagnostics: &Diagnostics) {
    for entry in entries {
        if let Some(LimitKind::Gcra { .. }) = entry.limit.map(|limit| limit.kind()) {
            let what = "a gcra limit keeps nothing that could be given back, and the rule is refundable";
            diagnostics.report(entry.at, what, "use the log or the counter, or leave `refundable` out");
        }
    }
}

fn check_name(entry: &LimitEntry, diagnostics: &Diagnostics) {
    let Some(name) = &entry.name else { return };
    let is_fine = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_fine) {
        let help = format!("use 1 to {MAX_NAME} printable ASCII characters without quotes, \\ and spaces");
        diagnostics.report(entry.at, format!("`{}` is no name for a limit", name.escape_debug()), help);
    }
}
