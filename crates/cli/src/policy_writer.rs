//! Writer of policies as YAML with comments.

pub(crate) mod names;
pub(crate) mod quote;

use std::fmt;

use quote::{list, text};

/// Key that no request has: with `missing: deny`, a rule denies everything that it does not allow.
const ABSENT_KEY: &str = "nobody-has-this";

/// Policy to write.
#[derive(Default)]
pub(crate) struct PolicyDraft {
    /// Comment lines at the top.
    pub(crate) preamble: Vec<String>,
    pub(crate) items: Vec<PolicyItem>,
}

/// Rule or comment of a policy.
pub(crate) enum PolicyItem {
    Rule(RuleDraft),
    /// A rule that would differ from the original, written as a comment.
    Omitted(RuleDraft),
    Note(String),
}

/// Rule to write.
#[derive(Clone, Debug, Default)]
pub(crate) struct RuleDraft {
    pub(crate) comments: Vec<String>,
    pub(crate) name: String,
    pub(crate) matches: Vec<(String, ValueTest)>,
    pub(crate) key: Vec<String>,
    /// Empty if the rule denies everything.
    pub(crate) limits: Vec<Quota>,
    pub(crate) allow: Vec<(String, ValueTest)>,
    pub(crate) skip_missing: bool,
    pub(crate) observe: bool,
}

/// Condition on an attribute's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ValueTest {
    Is(Vec<String>),
    Prefix(Vec<String>),
}

impl ValueTest {
    /// Any value, if the attribute is present.
    pub(crate) fn present() -> Self {
        Self::Prefix(vec![String::new()])
    }
}

/// Limit of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Quota {
    pub(crate) count: u64,
    pub(crate) window_ms: u64,
    pub(crate) window: WindowKind,
}

/// Kind of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WindowKind {
    Fixed,
    Sliding,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 5] =
            [("day", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];
        let Self { count, window_ms, window } = *self;
        let (unit, unit_ms) =
            UNITS.into_iter().find(|(_, ms)| window_ms.is_multiple_of(*ms)).unwrap_or(("ms", 1));
        match (window, window_ms / unit_ms) {
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
