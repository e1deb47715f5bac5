//! Tree of a YAML document. Every node has its position in the text.

use std::rc::Rc;

use super::super::diagnostics::quote;
use super::super::file::Span;

/// Value of any kind. In place of an alias the tree has the node that the alias refers to.
#[derive(Debug)]
pub struct Node {
    /// Position, from the first byte to the last.
    pub at: Span,
    /// Content.
    pub kind: Kind,
}

/// Content of a [`Node`].
#[derive(Debug)]
pub enum Kind {
    /// Single value.
    Scalar {
        /// Content, with quotes and escapes resolved.
        text: String,
        /// Whether it has no quotes, so that it may be a number, a boolean or null.
        plain: bool,
    },
    /// List.
    Sequence(Vec<Rc<Node>>),
    /// Fields, each key once.
    Mapping(Vec<Entry>),
    /// Value with an error that was reported.
    Invalid,
}

/// Field of a mapping.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name.
    pub key: String,
    /// Position of the name.
    pub key_at: Span,
    /// Value.
    pub value: Rc<Node>,
}

/// Type of a scalar by the core schema of YAML 1.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScalarType {
    /// No value: empty, `~` or `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// Integer or floating-point number.
    Number,
    /// Anything else, and everything in quotes.
    Text,
}

impl Node {
    /// Position for errors about the node as a whole: of a mapping its first field, since the
    /// mapping may have many lines.
    pub fn head(&self) -> Span {
        match &self.kind {
            Kind::Mapping(entries) => entries.first().map_or(self.at, |entry| entry.key_at),
            _ => self.at,
        }
    }

    /// Field of a mapping.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        match &self.kind {
            Kind::Mapping(entries) => entries.iter().find(|entry| entry.key == name),
            _ => None,
        }
    }

    /// Whether the node is a scalar without a value.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain } if scalar_type(text, *plain) == ScalarType::Null)
    }

    /// Description for error messages: the text of a scalar in backticks, "a list", "a mapping".
    pub fn describe(&self) -> String {
        match &self.kind {
            Kind::Scalar { .. } if self.is_null() => "nothing".to_owned(),
            Kind::Scalar { text, .. } => quote(text),
            Kind::Sequence(_) => "a list".to_owned(),
            Kind::Mapping(_) => "a mapping".to_owned(),
            Kind::Invalid => "an invalid value".to_owned(),
        }
    }
}

/// Type of a scalar. `yes`, `on` and `1_000` are texts in YAML 1.2.
pub fn scalar_type(text: &str, plain: bool) -> ScalarType {
    if !plain {
        return ScalarType::Text;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => ScalarType::Null,
        "true" | "True" | "TRUE" => ScalarType::Boolean(true),
        "false" | "False" | "FALSE" => ScalarType::Boolean(false),
        _ if is_number(text) => ScalarType::Number,
        _ => ScalarType::Text,
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
