//! Compilation of limit sets.

use super::super::diagnostics::Diagnostics;
use super::super::file::{LimitEntry, Spanned};
use super::super::limit_set::{self, LimitSet};
use super::UsedNames;
use slidegate_core::{Limit, LimitKind};
use slidegate_store::MAX_LIMITS;

/// Maximum length of a name, so that it fits in a header.
const MAX_NAME: usize = 64;

/// Rule that the limits belong to.
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
        diagnostics.report(written.at, "empty list of limits", "add at least one, as in `limits: [5/min]`");
    }
    if entries.len() > MAX_LIMITS {
        let help = format!("the maximum is {MAX_LIMITS}");
        diagnostics.report(written.at, format!("too many limits: {}", entries.len()), help);
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
        let is_duplicate = named.iter().any(|(_, other)| *other == name)
            || **used.limits.entry(name.clone()).or_insert(of.name.into()) != *of.name;
        if is_duplicate {
            let what = format!("duplicate limit name `{name}`");
            diagnostics.report(entry.at, what, "give one of the limits another `name`");
        }
        named.push((limit, name));
    }
    LimitSet::new(named)
}

/// Reports limits with the same algorithm and window: they would share their state, unless they
/// have names.
fn check_histories(entries: &[LimitEntry], diagnostics: &Diagnostics) {
    for (index, entry) in entries.iter().enumerate() {
        let Some(limit) = entry.limit else { continue };
        let is_same = |other: &&LimitEntry| other.limit.is_some_and(|other| other.id() == limit.id());
        if let Some(other) = entries[..index].iter().find(is_same) {
            let line = diagnostics.line(other.at);
            let what =
                format!("`{limit}` conflicts with the limit on line {line}: same algorithm and window");
            diagnostics.report(
                entry.at,
                what,
                "give one of them a `name`, another window or another algorithm",
            );
        }
    }
}

fn check_refundable(entries: &[LimitEntry], diagnostics: &Diagnostics) {
    for entry in entries {
        if let Some(LimitKind::Gcra { .. }) = entry.limit.map(|limit| limit.kind()) {
            let what = "a `gcra` limit cannot be refunded, but the rule is refundable";
            diagnostics.report(entry.at, what, "use `log` or `counter`, or remove `refundable`");
        }
    }
}

fn check_name(entry: &LimitEntry, diagnostics: &Diagnostics) {
    let Some(name) = &entry.name else { return };
    let is_fine = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(is_fine) {
        let help = format!("use 1 to {MAX_NAME} printable ASCII characters, without spaces, `\"` and `\\`");
        diagnostics.report(entry.at, format!("invalid limit name `{}`", name.escape_debug()), help);
    }
}
