//! A policy as text, with its comments.

use std::fmt;

use super::quote::{list, shown, text};

/// What a rule without limits lacks on purpose, so that it refuses all but what it allows.
const NEVER: &str = "nobody-has-this";

/// Whether windows that are fixed in the other system stay so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Windows {
    AsTheyAre,
    Sliding,
}

#[derive(Default)]
pub(super) struct Written {
    /// Comments at the top, a line each.
    pub(super) head: Vec<String>,
    pub(super) items: Vec<Item>,
}

pub(super) enum Item {
    Rule(Rule),
    /// A rule that would not be what was meant, as a comment.
    LeftOut(Rule),
    Note(String),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Rule {
    pub(super) comments: Vec<String>,
    pub(super) name: String,
    pub(super) matches: Vec<(String, Test)>,
    pub(super) key: Vec<String>,
    /// None at all: everything is refused.
    pub(super) limits: Vec<Quota>,
    pub(super) allow: Vec<(String, Test)>,
    pub(super) skip_missing: bool,
    pub(super) observe: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Test {
    Is(Vec<String>),
    Prefix(Vec<String>),
}

impl Test {
    /// Any value, as long as there is one.
    pub(super) fn present() -> Self {
        Self::Prefix(vec![String::new()])
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Quota {
    pub(super) count: u64,
    pub(super) window_s: u64,
    pub(super) window: Window,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Window {
    Fixed,
    Slides,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 4] = [("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1)];
        let Self { count, window_s, window } = *self;
        let (unit, unit_s) = UNITS.into_iter().find(|(_, s)| window_s.is_multiple_of(*s)).unwrap_or(("s", 1));
        match (window, window_s / unit_s) {
            (Window::Fixed, units) => {
                write!(f, "{{ quota: {count}, window: {units}{unit}, algorithm: fixed }}")
            }
            (Window::Slides, 1) => write!(f, "{count}/{unit}"),
            (Window::Slides, units) => write!(f, "{count}/{units}{unit}"),
        }
    }
}

impl fmt::Display for Test {
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

impl Rule {
    /// Its lines, without their indentation.
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("- name: {}", text(&self.name))];
        let mut field = |name: &str, value: String| lines.push(format!("  {name}: {value}"));
        if !self.matches.is_empty() {
            field("match", conditions(&self.matches));
        }
        // A deny list comes before the allow list, so that it cannot say "all but".
        let refuses_all_but = self.limits.is_empty() && !self.allow.is_empty();
        if refuses_all_but {
            field("key", list(&[NEVER.to_owned()]));
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

    fn refusal(&self) -> Option<&'static str> {
        match (self.limits.is_empty(), self.allow.is_empty()) {
            (false, _) => None,
            (true, true) => {
                Some("Nothing passes: the limit is there because a rule has one, and is never asked.")
            }
            (true, false) => Some(
                "Nothing passes but what `allow` lists: no request has this key, and the limit is never asked.",
            ),
        }
    }
}

fn conditions(tests: &[(String, Test)]) -> String {
    let tests: Vec<String> = tests.iter().map(|(name, test)| format!("{}: {test}", text(name))).collect();
    if tests.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", tests.join(", ")) }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.head {
            writeln!(f, "{}", format!("# {}", line.replace(char::is_control, " ")).trim_end())?;
        }
        writeln!(f, "version: 1")?;
        let is_empty = !self.items.iter().any(|item| matches!(item, Item::Rule(_)));
        writeln!(f, "{}", if is_empty { "rules: []" } else { "rules:" })?;
        for (index, item) in self.items.iter().enumerate() {
            let follows_note = index > 0 && matches!(self.items[index - 1], Item::Note(_));
            if index > 0 && !(follows_note && matches!(item, Item::Note(_))) {
                writeln!(f)?;
            }
            match item {
                Item::Note(note) => writeln!(f, "  # {}", note.replace(char::is_control, " "))?,
                Item::Rule(rule) => write_rule(f, rule, "")?,
                Item::LeftOut(rule) => write_rule(f, rule, "# ")?,
            }
        }
        Ok(())
    }
}

fn write_rule(f: &mut fmt::Formatter<'_>, rule: &Rule, mark: &str) -> fmt::Result {
    for comment in rule.comments.iter().map(String::as_str).chain(rule.refusal()) {
        writeln!(f, "  # {}", comment.replace(char::is_control, " "))?;
    }
    for line in rule.lines() {
        writeln!(f, "  {mark}{line}")?;
    }
    Ok(())
}

/// Where something comes from, as a comment: `tool=hammer, user (line 7)`.
pub(super) fn origin(what: &str, line: usize) -> String {
    format!("{} (line {line})", shown(what))
}
