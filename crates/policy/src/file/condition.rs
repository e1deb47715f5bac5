//! Conditions on the attributes of a request.

use serde_json::{Value, json};

use super::{Span, Spanned};
use crate::diagnostics::{Diagnostics, quote};
use crate::format::{Fields, Format, Schemas, expected};
use crate::yaml::{Kind, Node};

/// Conditions on attributes. All of them must match. An empty mapping matches every request.
///
/// A value must be equal, a list matches any of its values, and `{ prefix: x }` matches values that
/// start with `x`. `path` takes templates (`/users/{id}`, `/files/{*rest}`), `ip` takes addresses
/// and CIDR blocks, and `method` ignores case.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Conditions(pub Vec<Condition>);

/// Condition on one attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// Position of the attribute.
    pub at: Span,
    /// Name of the attribute.
    pub attribute: String,
    /// Test of its value.
    pub test: Test,
}

/// Test of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Test {
    /// Equal to one of these. Numbers and booleans are compared as text.
    Is(Vec<Spanned<String>>),
    /// Starts with one of these.
    Prefix(Vec<Spanned<String>>),
}

impl Format for Conditions {
    type Value = Self;

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

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Conditions", |schemas| {
            json!({
                "description": "Conditions on attributes. All of them must match. An empty mapping matches every \
                    request.",
                "type": "object",
                "additionalProperties": Test::schema(schemas),
                "examples": [{ "method": "POST", "path": "/login" }, { "ip": ["10.0.0.0/8", "192.0.2.7"] }],
            })
        })
    }
}

impl Format for Test {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a test", diagnostics)?;
                let prefix = fields.required::<TestValues>("prefix", "prefix: /api");
                fields.done();
                prefix.map(Self::Prefix)
            }
            _ => TestValues::read(node, diagnostics).map(Self::Is),
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Test", |schemas| {
            let forms = TestValues::schema(schemas);
            let (value, list) = (&forms["anyOf"][0], &forms["anyOf"][1]);
            json!({
                "description": "Test of an attribute: a value, a list of alternatives, or a prefix. `path` takes \
                    templates (`/users/{id}`, `/files/{*rest}`), `ip` takes addresses and CIDR blocks, and `method` \
                    ignores case.",
                "anyOf": [
                    value,
                    list,
                    {
                        "type": "object",
                        "properties": { "prefix": forms },
                        "required": ["prefix"],
                        "additionalProperties": false,
                    },
                ],
                "examples": ["/users/{id}", ["GET", "HEAD"], { "prefix": "/api" }],
            })
        })
    }
}

/// Values of a test: one, or a list. `tier: 1` matches the tier `1`, so that a scalar may have any
/// YAML type.
struct TestValues;

impl Format for TestValues {
    type Value = Vec<Spanned<String>>;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        let value = |node: &Node| {
            let value = match &node.kind {
                Kind::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
                _ => {
                    let help =
                        "write a value, a list of values, or `{ prefix: /api }`; `\"\"` is the empty string";
                    expected(node, "a value", help, diagnostics);
                    None
                }
            };
            Spanned { at: node.at, value }
        };
        match &node.kind {
            Kind::Sequence(items) => Some(items.iter().map(|item| value(item)).collect()),
            _ => Some(vec![value(node)]),
        }
    }

    fn schema(_: &mut Schemas) -> Value {
        let value = json!({ "type": ["string", "number", "boolean"] });
        json!({ "anyOf": [value, { "type": "array", "items": value, "minItems": 1 }] })
    }
}
