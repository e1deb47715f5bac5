//! A file as a tree whose nodes know where they stand.

use std::rc::Rc;

use super::super::diagnostics::Mask;
use super::super::file::Span;

/// A value of any form. Where an alias stands, the tree has the node that it refers to.
pub(crate) struct Node {
    /// From its first byte to its last.
    pub(crate) at: Span,
    pub(crate) kind: Kind,
}

pub(crate) enum Kind {
    /// `plain`: without quotes, so that it may mean a number, a boolean or nothing.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Rc<Node>>),
    /// Each key once.
    Mapping(Vec<Entry>),
    /// Something that was already reported.
    Wrong,
}

/// A field of a mapping.
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Span,
    pub(crate) value: Rc<Node>,
}

/// What a scalar means by YAML 1.2.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Nothing,
    Boolean(bool),
    Number,
    Text,
}

impl Node {
    /// Where to point when it lacks something: its first field, since the whole may be many lines.
    pub(crate) fn head(&self) -> Span {
        match &self.kind {
            Kind::Mapping(entries) => entries.first().map_or(self.at, |entry| entry.key_at),
            _ => self.at,
        }
    }

    /// What it is, for an error that has to say so.
    pub(crate) fn described(&self) -> String {
        match &self.kind {
            Kind::Scalar { text, plain } => match meaning(text, *plain) {
                Meaning::Nothing => "nothing".to_owned(),
                Meaning::Boolean(_) | Meaning::Number | Meaning::Text => quoted(text),
            },
            Kind::Sequence(_) => "a list".to_owned(),
            Kind::Mapping(_) => "a mapping".to_owned(),
            Kind::Wrong => "wrong".to_owned(),
        }
    }
}

/// What a scalar means. `yes`, `on` and `1_000` are texts, as YAML 1.2 has it.
pub(crate) fn meaning(text: &str, plain: bool) -> Meaning {
    if !plain {
        return Meaning::Text;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Nothing,
        "true" | "True" | "TRUE" => Meaning::Boolean(true),
        "false" | "False" | "FALSE" => Meaning::Boolean(false),
        _ if is_number(text) => Meaning::Number,
        _ => Meaning::Text,
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(hex) = text.strip_prefix("0x") {
        return !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return !octal.is_empty() && octal.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    }
    if matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    // What is left has the form that Rust reads, once words such as `inf` are ruled out.
    let starts = digits.strip_prefix('.').unwrap_or(digits).starts_with(|c: char| c.is_ascii_digit());
    starts && digits.parse::<f64>().is_ok()
}

/// A text of the file within an error: short, on one line, and without secrets.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 40;
    let text = Mask::of(text).elide(text);
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}
