//! Reader of conditions: attributes and the tests of their values.

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{Condition, Conditions, Spanned, Test};
use super::super::yaml::{Kind, Node};
use super::Read;
use super::fields::{Fields, expected};

impl Read for Conditions {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            let help = "write attributes and their values, as in `{ method: POST, path: /login }`";
            expected(node, "a mapping", help, diagnostics);
            return None;
        };
        let conditions = entries.iter().filter_map(|entry| {
            let test = Test::read(&entry.value, diagnostics)?;
            let (Test::Is(values) | Test::Prefix(values)) = &test;
            if values.is_empty() {
                let what = format!("condition on {} has no values, so it never matches", quote(&entry.key));
                diagnostics.report(entry.key_at, what, "add at least one value");
                return None;
            }
            Some(Condition { at: entry.key_at, attribute: entry.key.clone(), test })
        });
        Some(Self(conditions.collect()))
    }
}

impl Read for Test {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a test", diagnostics)?;
                let prefix = fields.required::<Values>("prefix", "prefix: /api");
                fields.done();
                prefix.value.map(|values| Self::Prefix(values.0))
            }
            _ => Values::read(node, diagnostics).map(|values| Self::Is(values.0)),
        }
    }
}

/// Values of a test: one, or a list.
struct Values(Vec<Spanned<String>>);

impl Read for Values {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Sequence(items) => Some(Self(items.iter().map(|item| value(item, diagnostics)).collect())),
            _ => Some(Self(vec![value(node, diagnostics)])),
        }
    }
}

/// Text of a scalar of any YAML type: `tier: 1` matches the tier `1`.
fn value(node: &Node, diagnostics: &Diagnostics) -> Spanned<String> {
    let value = match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
        _ => {
            let help = "write a value, a list of values, or `{ prefix: /api }`; `\"\"` is the empty string";
            expected(node, "a value", help, diagnostics);
            None
        }
    };
    Spanned { at: node.at, value }
}
