//! Strings, numbers, booleans, lists and maps.

use std::collections::BTreeMap;

use slidegate_core::parse_count;

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::Spanned;
use super::super::suggest::closest;
use super::super::yaml::{Kind, Node, ScalarType, scalar_type};
use super::Read;
use super::fields::expected;

/// Never fails: an error is reported, and the position remains.
impl<T: Read> Read for Spanned<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { at: node.at, value: T::read(node, diagnostics) })
    }
}

/// Invalid items are left out. A list of nothing but invalid items is invalid.
impl<T: Read> Read for Vec<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Sequence(items) => {
                let read: Self = items.iter().filter_map(|item| T::read(item, diagnostics)).collect();
                (items.is_empty() || !read.is_empty()).then_some(read)
            }
            Kind::Scalar { .. } if T::IS_SECRET => {
                diagnostics.report(node.at, "expected a list", "enclose it in `[` and `]`");
                None
            }
            Kind::Scalar { text, .. } if !text.contains('\n') && text.len() < 40 => {
                expected(node, "a list", &format!("write `[{text}]`"), diagnostics);
                None
            }
            _ => {
                expected(node, "a list", "write `[a, b]`, or each item on a line after `- `", diagnostics);
                None
            }
        }
    }
}

/// Map with arbitrary names.
impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            expected(node, "a mapping", "write `name: value`", diagnostics);
            return None;
        };
        let values = entries.iter().filter_map(|entry| {
            let value = T::read(&entry.value, diagnostics)?;
            Some((entry.key.clone(), value))
        });
        Some(values.collect())
    }
}

impl Read for String {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        if let Kind::Scalar { text, plain } = &node.kind {
            match scalar_type(text, *plain) {
                ScalarType::Text if !text.is_empty() => return Some(text.clone()),
                ScalarType::Number | ScalarType::Boolean(_) => {
                    let help = format!("quote it: \"{text}\"");
                    expected(node, "a string", &help, diagnostics);
                    return None;
                }
                ScalarType::Text => {
                    diagnostics.report(node.at, "empty string", "write at least one character");
                    return None;
                }
                ScalarType::Null => {}
            }
        }
        expected(node, "a string", "write one, in quotes if it contains special characters", diagnostics);
        None
    }
}

impl Read for bool {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        if let Kind::Scalar { text, plain } = &node.kind
            && let ScalarType::Boolean(value) = scalar_type(text, *plain)
        {
            return Some(value);
        }
        expected(node, "`true` or `false`", "write `true` or `false`, without quotes", diagnostics);
        None
    }
}

impl Read for u64 {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        whole(node, u64::MAX, diagnostics)
    }
}

impl Read for u32 {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        whole(node, u64::from(u32::MAX), diagnostics).map(|value| value as u32)
    }
}

impl Read for u8 {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        whole(node, u64::from(u8::MAX), diagnostics).map(|value| value as u8)
    }
}

/// Whole number, optionally with `_` between its digits.
fn whole(node: &Node, max: u64, diagnostics: &Diagnostics) -> Option<u64> {
    if let Kind::Scalar { text, .. } = &node.kind {
        match parse_count(text) {
            Ok(value) if value <= max => return Some(value),
            Ok(_) | Err(slidegate_core::LimitError::QuotaTooLarge { .. }) => {
                diagnostics.report(
                    node.at,
                    format!("number {} is too large", quote(text)),
                    format!("the maximum is {max}"),
                );
                return None;
            }
            Err(_) => {}
        }
    }
    expected(node, "a whole number", "write digits, as in `600` or `1_000_000`", diagnostics);
    None
}

/// One of a few keywords.
pub(super) fn word<T: Copy>(
    node: &Node,
    words: &[(&'static str, T)],
    diagnostics: &Diagnostics,
) -> Option<T> {
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    let help = format!("write one of {}", names.join(", "));
    let Kind::Scalar { text, .. } = &node.kind else {
        expected(node, "a keyword", &help, diagnostics);
        return None;
    };
    if let Some((_, value)) = words.iter().find(|(name, _)| name == text) {
        return Some(*value);
    }
    let message = match closest(text, &names) {
        _ if node.is_null() => "expected a keyword, found nothing".to_owned(),
        Some(name) => format!("unknown value {}: did you mean `{name}`?", quote(text)),
        None => format!("unknown value {}", quote(text)),
    };
    diagnostics.report(node.at, message, help);
    None
}
