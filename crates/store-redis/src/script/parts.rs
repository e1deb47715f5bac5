//! Parts of which scripts are made.

use slidegate_core::{Limit, LimitKind};

/// Names of the values of a request or a limit; all others that end in `_` are variables.
pub(super) const REQUEST_NAMES: [&str; 8] =
    ["key_", "cost_", "quota_", "window_", "extra_", "margin_", "recorded_", "recorded_at_"];

/// Parts of one kind of limit.
pub(super) struct ScriptParts {
    pub(super) file: &'static str,
    pub(super) functions: &'static str,
    pub(super) peek: &'static str,
    pub(super) answer: &'static str,
    pub(super) record: &'static str,
    pub(super) settle: String,
    pub(super) give_back: String,
}

impl ScriptParts {
    pub(super) fn of(limit: &Limit) -> Self {
        let file = match limit.kind() {
            LimitKind::Log { .. } => include_str!("../lua/log.lua"),
            LimitKind::Counter => include_str!("../lua/counter.lua"),
            LimitKind::Fixed => include_str!("../lua/fixed.lua"),
            LimitKind::Gcra { .. } => include_str!("../lua/gcra.lua"),
            LimitKind::InFlight => include_str!("../lua/in_flight.lua"),
        };
        let part = |name| section(file, name);
        Self {
            file,
            functions: part("functions"),
            peek: part("peek"),
            answer: part("answer"),
            record: part("record"),
            settle: part("settle").replace("WRITE", part("write")),
            give_back: part("give back").replace("WRITE", part("write")),
        }
    }

    /// Variables of these parts.
    pub(super) fn variables(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = [self.peek, self.answer, self.record]
            .into_iter()
            .flat_map(words)
            .filter(|word| word.ends_with('_') && word.len() > 1 && !REQUEST_NAMES.contains(word))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Lines between `---- name` and the next such line.
pub(super) fn section(file: &'static str, name: &str) -> &'static str {
    let Some((_, rest)) = file.split_once(&format!("---- {name}\n")) else { return "" };
    rest.split_once("\n---- ").map_or(rest, |(part, _)| part)
}

/// Words as Lua has them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}
