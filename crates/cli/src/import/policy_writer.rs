//! Writer of policies as YAML with comments.

use std::fmt;

use super::quote::{excerpt, list, text};

/// Key that no request has: with `missing: deny`, a rule denies everything that it does not allow.
const ABSENT_KEY: &str = "nobody-has-this";

/// Treatment of windows that are fixed in the other system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WindowOption {
    Preserve,
    Sliding,
}

/// Policy to write.
#[derive(Default)]
pub(super) struct PolicyDraft {
    /// Comment lines at the top.
    pub(super) preamble: Vec<String>,
    pub(super) items: Vec<PolicyItem>,
}

/// Rule or comment of a policy.
pub(super) enum PolicyItem {
    Rule(RuleDraft),
    /// A rule that would differ from the original, written as a comment.
    Omitted(RuleDraft),
    Note(String),
}

/// Rule to write.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleDraft {
    pub(super) comments: Vec<String>,
    pub(super) name: String,
    pub(super) matches: Vec<(String, ValueTest)>,
    pub(super) key: Vec<String>,
    /// Empty if the rule denies everything.
    pub(super) limits: Vec<Quota>,
    pub(super) allow: Vec<(String, ValueTest)>,
    pub(super) skip_missing: bool,
    pub(super) observe: bool,
}

/// Condition on an attribute's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ValueTest {
    Is(Vec<String>),
    Prefix(Vec<String>),
}

impl ValueTest {
    /// Any value, if the attribute is present.
    pub(super) fn present() -> Self {
        Self::Prefix(vec![String::new()])
    }
}

/// Limit of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quota {
    pub(super) count: u64,
    pub(super) window_s: u64,
    pub(super) window: WindowKind,
}

/// Kind of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WindowKind {
    Fixed,
    Sliding,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 4] = [("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
        let Self { count, window_s, window } = *self;
        let (unit, unit_s) = UNITS.into_iter().find(|(_, s)| window_s.is_multiple_of(*s)).unwrap_or(("s", 1));
        match (window, window_s / unit_s) {
            (WindowKind::Fixed, units) => {
                write!(f, "{{ quota: {count}, window: {units}{unit}, algorithm: fixed }}")
            }
            (WindowKind::Sliding, 1) => write!(f, "{count}/{unit}"),
            (WindowKind::Sliding, units) => write!(f, "{count}/{units}{unit}"),
        }
    }
}

impl fmt::Display for ValueTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one_or_more = |texts: &[String]| match texts {
            [one] => text(one),
            more => list(more),
        };
        match self {
            Self::Is(texts) => f.write_str(&one_or_more(texts)),
            Self::Prefix(texts) => write!(f, "{{ prefix: {} }}", one_or_more(texts)),
        }
    }
}

impl RuleDraft {
    /// YAML lines, without their indentation.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("- name: {}", text(&self.name))];
        let mut field = |name: &str, value: String| lines.push(format!("  {name}: {value}"));
        if !self.matches.is_empty() {
            field("match", conditions(&self.matches));
        }
        // The deny list takes precedence over the allow list, so it cannot express "all except".
        let denies_all_except = self.limits.is_empty() && !self.allow.is_empty();
        if denies_all_except {
            field("key", list(&[ABSENT_KEY.to_owned()]));
            field("missing", "deny".to_owned());
        } else if !self.limits.is_empty() && !self.key.is_empty() {
            field("key", list(&self.key));
            if self.skip_missing {
                field("missing", "skip".to_owned());
            }
        }
        let limits: Vec<String> = self.limits.iter().map(Quota::to_string).collect();
        field(
            "limits",
            if limits.is_empty() { "[1/s]".to_owned() } else { format!("[{}]", limits.join(", ")) },
        );
        let allowed: Vec<String> =
            self.allow.iter().map(|one| conditions(std::slice::from_ref(one))).collect();
        if !allowed.is_empty() {
            field("allow", format!("[{}]", allowed.join(", ")));
        } else if self.limits.is_empty() {
            field("deny", format!("[{}]", conditions(&self.matches[..self.matches.len().min(1)])));
        }
        if self.observe {
            field("mode", "observe".to_owned());
        }
        lines
    }

    fn denial_comment(&self) -> Option<&'static str> {
        match (self.limits.is_empty(), self.allow.is_empty()) {
            (false, _) => None,
            (true, true) => Some("Denies everything. The limit is never used; a rule must have one."),
            (true, false) => Some(
                "Denies everything except what `allow` lists: no request has this key, and the limit is never used.",
            ),
        }
    }
}

fn conditions(tests: &[(String, ValueTest)]) -> String {
    let tests: Vec<String> = tests.iter().map(|(name, test)| format!("{}: {test}", text(name))).collect();
    if tests.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", tests.join(", ")) }
}

impl fmt::Display for PolicyDraft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.preamble {
            writeln!(f, "{}", format!("# {}", line.replace(char::is_control, " ")).trim_end())?;
        }
        writeln!(f, "version: 1")?;
        let is_empty = !self.items.iter().any(|item| matches!(item, PolicyItem::Rule(_)));
        writeln!(f, "{}", if is_empty { "rules: []" } else { "rules:" })?;
        for (index, item) in self.items.iter().enumerate() {
            let follows_note = index > 0 && matches!(self.items[index - 1], PolicyItem::Note(_));
            if index > 0 && !(follows_note && matches!(item, PolicyItem::Note(_))) {
                writeln!(f)?;
            }
            match item {
                PolicyItem::Note(note) => writeln!(f, "  # {}", note.replace(char::is_control, " "))?,
                PolicyItem::Rule(rule) => write_rule(f, rule, "")?,
                PolicyItem::Omitted(rule) => write_rule(f, rule, "# ")?,
            }
        }
        Ok(())
    }
}

fn write_rule(f: &mut fmt::Formatter<'_>, rule: &RuleDraft, mark: &str) -> fmt::Result {
    for comment in rule.comments.iter().map(String::as_str).chain(rule.denial_comment()) {
        writeln!(f, "  # {}", comment.replace(char::is_control, " "))?;
    }
    for line in rule.lines() {
        writeln!(f, "  {mark}{line}")?;
    }
    Ok(())
}

/// Comments at the top of a converted policy: the command, the file, and what to know.
pub(super) fn preamble(system: &str, file: &str, lines: &[&str]) -> Vec<String> {
    let title = format!("Converted by `slidegate import {system}` from {}.", excerpt(file));
    [title, String::new()].into_iter().chain(lines.iter().map(|line| (*line).to_owned())).collect()
}

/// Origin of a rule, for a comment: `tool=hammer, user (line 7)`.
pub(super) fn origin(what: &str, line: usize) -> String {
    format!("{} (line {line})", excerpt(what))
}
