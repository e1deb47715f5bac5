//! Conditions: an attribute, and what its value has to be.

use super::super::diagnostics::Problems;
use super::super::file::{Condition, Conditions, Spot, Test};
use super::super::yaml::{Kind, Node, quoted};
use super::Read;
use super::fields::{Fields, expected, is_nothing};

impl Read for Conditions {
    fn read(node: &Node, problems: &Problems) -> Option<Self> {
        let Kind::Mapping(entries) = &node.kind else {
            let remedy = "write attributes and their values, as in { method: POST, path: /login }";
            expected(node, "conditions are a mapping", remedy, problems);
            return None;
        };
        let conditions = entries.iter().filter_map(|entry| {
            let test = Test::read(&entry.value, problems)?;
            let (Test::Is(values) | Test::Prefix(values)) = &test;
            if values.is_empty() {
                let what = format!("{} is compared with nothing, which never holds", quoted(&entry.key));
                problems.report(entry.key_at, what, "list at least one value");
                return None;
            }
            Some(Condition { at: entry.key_at, attribute: entry.key.clone(), test })
        });
        Some(Self(conditions.collect()))
    }
}

impl Read for Test {
    fn read(node: &Node, problems: &Problems) -> Option<Self> {
        match &node.kind {
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a test", problems)?;
                let prefix = fields.required::<Values>("prefix", "{ prefix: /api }");
                fields.done();
                prefix.value.map(|values| Self::Prefix(values.0))
            }
            _ => Values::read(node, problems).map(|values| Self::Is(values.0)),
        }
    }
}

/// A value or a list of them, as texts.
struct Values(Vec<Spot<String>>);

impl Read for Values {
    fn read(node: &Node, problems: &Problems) -> Option<Self> {
        match &node.kind {
            Kind::Sequence(items) => Some(Self(items.iter().map(|item| value(item, problems)).collect())),
            _ => Some(Self(vec![value(node, problems)])),
        }
    }
}

/// The text of a scalar, whatever it means to YAML: `tier: 1` asks for the tier `1`.
fn value(node: &Node, problems: &Problems) -> Spot<String> {
    let value = match &node.kind {
        Kind::Scalar { text, .. } if !is_nothing(node) => Some(text.clone()),
        _ => {
            let remedy = "write a value, a list of values, or { prefix: /api }; \"\" is the empty text";
            expected(node, "this has to be a value", remedy, problems);
            None
        }
    };
    Spot { at: node.at, value }
}
