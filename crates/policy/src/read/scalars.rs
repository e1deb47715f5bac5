//! Texts, numbers, booleans, and collections of anything.

use std::collections::BTreeMap;

use slidegate_core::parse_count;

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::Spanned;
use super::super::suggest::closest;
use super::super::yaml::{Kind, Node, ScalarType, scalar_type};
use super::Read;
use super::fields::expected;

/// Never fails: what is wrong is reported, and its place stays known.
impl<T: Read> Read for Spanned<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        Some(Self { at: node.at, value: T::read(node, diagnostics) })
    }
}

/// Items that are wrong are left out, and a list of nothing else is wrong: something was meant.
impl<T: Read> Read for Vec<T> {
    const IS_SECRET: bool = T::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Sequence(items) => {
                let read: Self = items.iter().filter_map(|item| T::read(item, diagnostics)).collect();
                (items.is_empty() || !read.is_empty()).then_some(read)
            }
            Kind::Scalar { .. } if T::IS_SECRET => {
                diagnostics.report(node.at, "this has to be a list", "put it between [ and ]");
                None
            }
            Kind::Scalar { text, .. } if !text.contains('\n') && text.len() < 40 => {
                expected(node, "this has to be a list", &format!("write [{text}]"), diagnostics);
                None
            }
            _ => {
                expected(
                    node,
                    "this has to be a list",
                    "write [a, b], or every item after a `- `",
                    diagnostics,
                );
                None
            }
        }
    }
}

/// Names of the user's choice.
impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            expected(node, "this has to be a mapping", "write name: value", diagnostics);
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
                    let help = format!("put it in quotes: \"{text}\"");
                    expected(node, "this has to be a text", &help, diagnostics);
                    return None;
                }
                ScalarType::Text => {
                    diagnostics.report(node.at, "this text is empty", "write at least one character");
                    return None;
                }
                ScalarType::Null => {}
            }
        }
        expected(
            node,
            "this has to be a text",
            "write one, in quotes if it has special characters",
            diagnostics,
        );
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
        expected(node, "this has to be true or false", "write true or false, without quotes", diagnostics);
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

/// A whole number, with `_` between its digits where that reads better.
fn whole(node: &Node, most: u64, diagnostics: &Diagnostics) -> Option<u64> {
    if let Kind::Scalar { text, .. } = &node.kind {
        match parse_count(text) {
            Ok(value) if value <= most => return Some(value),
            Ok(_) | Err(slidegate_core::LimitError::QuotaTooLarge { .. }) => {
                diagnostics.report(
                    node.at,
                    format!("{} is too large", quote(text)),
                    format!("at most {most}"),
                );
                return None;
            }
            Err(_) => {}
        }
    }
    expected(node, "this has to be a whole number", "write digits, as in 600 or 1_000_000", diagnostics);
    None
}

/// One of a few words.
pub(super) fn word<T: Copy>(
    node: &Node,
    words: &[(&'static str, T)],
    diagnostics: &Diagnostics,
) -> Option<T> {
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    let all = names.join(", ");
    let help = match &node.kind {
        Kind::Scalar { text, .. } => {
            if let Some((_, value)) = words.iter().find(|(name, _)| name == text) {
                return Some(*value);
            }
            match closest(text, &names) {
                Some(name) => format!("did you mean `{name}`? there are {all}"),
                None => format!("write one of {all}"),
            }
        }
        _ => format!("write one of {all}"),
    };
    let what = format!("{} is none of {all}", node.describe());
    if !matches!(node.kind, Kind::Invalid) {
        diagnostics.report(node.head(), what, help);
    }
    None
}
