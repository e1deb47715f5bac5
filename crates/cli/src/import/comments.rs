//! Comments of converted policies: where a rule comes from.

use crate::policy_writer::quote::excerpt;

/// Comments at the top of a converted policy: the command, the file, and what to know.
pub(super) fn preamble(system: &str, file: &str, lines: &[&str]) -> Vec<String> {
    let title = format!("Converted by `slidegate import {system}` from {}.", excerpt(file));
    [title, String::new()].into_iter().chain(lines.iter().map(|line| (*line).to_owned())).collect()
}

/// Origin of a rule, for a comment: `tool=hammer, user (line 7)`.
pub(super) fn origin(what: &str, line: usize) -> String {
    format!("{} (line {line})", excerpt(what))
}
