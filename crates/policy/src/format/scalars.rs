//! Strings, numbers, booleans, lists and maps.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slidegate_core::parse_count;

use super::{Format, Schemas, expected, schema};
use crate::diagnostics::{Diagnostics, quote};
use crate::file::{Span, Spanned};
use crate::yaml::{Kind, Node, ScalarType, scalar_type};

/// Never fails: an error is reported, and the position remains.
impl<F: Format> Format for Spanned<F> {
    type Value = Spanned<F::Value>;

    const IS_SECRET: bool = F::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        Some(Spanned { at: node.at, value: F::read(node, diagnostics) })
    }

    fn schema(schemas: &mut Schemas) -> Value {
        F::schema(schemas)
    }

    fn missing(at: Span) -> Option<Self::Value> {
        Some(Spanned { at, value: None })
    }
}

/// Optional field.
impl<F: Format> Format for Option<F> {
    type Value = Option<F::Value>;

    const IS_SECRET: bool = F::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        F::read(node, diagnostics).map(Some)
    }

    fn schema(schemas: &mut Schemas) -> Value {
        F::schema(schemas)
    }
}

/// Invalid items are left out. A list of nothing but invalid items is invalid.
impl<F: Format> Format for Vec<F> {
    type Value = Vec<F::Value>;

    const IS_SECRET: bool = F::IS_SECRET;

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "type": "array", "items": F::schema(schemas) })
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        match &node.kind {
            Kind::Sequence(items) => {
                let read: Vec<_> = items.iter().filter_map(|item| F::read(item, diagnostics)).collect();
                (items.is_empty() || !read.is_empty()).then_some(read)
            }
            Kind::Scalar { .. } if F::IS_SECRET => {
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
impl<F: Format> Format for BTreeMap<String, F> {
    type Value = BTreeMap<String, F::Value>;

    fn schema(schemas: &mut Schemas) -> Value {
        json!({ "type": "object", "additionalProperties": F::schema(schemas) })
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        let Kind::Mapping(entries) = &node.kind else {
            expected(node, "a mapping", "write `name: value`", diagnostics);
            return None;
        };
        let values = entries.iter().filter_map(|entry| {
            let value = F::read(&entry.value, diagnostics)?;
            Some((entry.key.clone(), value))
        });
        Some(values.collect())
    }
}

impl Format for String {
    type Value = Self;

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "string", "minLength": 1 })
    }

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

impl Format for bool {
    type Value = Self;

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "boolean" })
    }

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

macro_rules! whole_numbers {
    ($($type:ty),+) => {$(
        impl Format for $type {
            type Value = Self;

            fn schema(_: &mut Schemas) -> Value {
                schema::whole(0, u64::from(<$type>::MAX))
            }

            fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
                whole(node, u64::from(<$type>::MAX), diagnostics).map(|value| value as $type)
            }
        }
    )+};
}

whole_numbers!(u8, u32, u64);

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
