//! Conditions: an attribute, and what its value has to be.

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{Condition, Conditions, Spanned, Test};
use super::super::yaml::{Kind, Node};
use super::Read;
use super::fields::{Fields, expected};

impl Read for Conditions {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            let help = "write attributes and their values, as in { method: POST, path: /login }";
            expected(node, "conditions are a mapping", help, diagnostics);
            return None;
        };
        let conditions = entries.iter().filter_map(|entry| {
            let test = Test::read(&entry.value, diagnostics)?;
            let (Test::Is(values) | Test::Prefix(values)) = &test;
            if values.is_empty() {
                let what = format!("{} is compared with nothing, which never holds", quote(&entry.key));
                diagnostics.report(entry.key_at, what, "list at least one value");
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
                let prefix = fields.required::<Values>("prefix", "{ prefix: /api }");
                fields.done();
                prefix.value.map(|values| Self::Prefix(values.0))
            }
            _ => Values::read(node, diagnostics).map(|values| Self::Is(values.0)),
        }
    }
}

/// A value or a list of them, as texts.
struct Values(Vec<Spanned<String>>);

impl Read for Values {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Sequence(items) => Some(Self(items.iter().map(|item| value(item, diagnostics)).collect())),
            _ => Some(Self(vec![value(node, diagnostics)])),
        }
    }
}

/// The text of a scalar, whatever it means to YAML: `tier: 1` asks for the tier `1`.
fn value(node: &Node, diagnostics: &Diagnostics) -> Spanned<String> {
    let value = match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
        _ => {
            let help = "write a value, a list of values, or { prefix: /api }; \"\" is the empty text";
            expected(node, "this has to be a value", help, diagnostics);
            None
        }
    };
    Spanned { at: node.at, value }
}
