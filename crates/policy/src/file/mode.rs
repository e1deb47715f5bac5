//! Mode of a rule.

use serde_json::{Value, json};

use super::{Conditions, Percent, Spanned};
use crate::diagnostics::Diagnostics;
use crate::format::{Fields, Format, Schemas, expected, keyword};
use crate::yaml::{Kind, Node};

/// Mode of a rule.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Mode {
    /// Deny requests that exceed the limits.
    #[default]
    Enforce,
    /// Count, and report what would be denied.
    Observe,
    /// Enforce for this share of the subjects, always the same ones, and observe the others.
    Share(Percent),
    /// Enforce for requests that match one of these, and observe the others.
    For(Vec<Conditions>),
}

const FORMS: &str = "write `enforce`, `observe`, `{ enforce: 25% }` or `{ enforce_for: [{ org: acme }] }`";

impl Format for Mode {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        match &node.kind {
            Kind::Scalar { .. } => {
                let is_enforced = keyword(node, &[("enforce", true), ("observe", false)], diagnostics)?;
                Some(if is_enforced { Self::Enforce } else { Self::Observe })
            }
            Kind::Mapping(_) => {
                let fields = Fields::of(node, "a mode", diagnostics)?;
                let share = fields.get::<Spanned<Percent>>("enforce");
                let some = fields.get::<Spanned<Vec<Conditions>>>("enforce_for");
                fields.done();
                match (share, some) {
                    (Some(share), None) => share.value.map(Self::Share),
                    (None, Some(some)) => some.value.map(Self::For),
                    (Some(_), Some(some)) => {
                        fields.report(some.at, "`enforce` and `enforce_for` cannot be combined", FORMS);
                        None
                    }
                    (None, None) => {
                        fields.report(fields.head(), "missing field `enforce` or `enforce_for`", FORMS);
                        None
                    }
                }
            }
            _ => {
                expected(node, "a mode", FORMS, diagnostics);
                None
            }
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Mode", |schemas| {
            let (share, conditions) = (Percent::schema(schemas), Conditions::schema(schemas));
            json!({
                "description": "Mode of a rule. Where it does not enforce, it observes: it counts, and reports what \
                    it would deny.",
                "anyOf": [
                    { "const": "enforce", "description": "Deny requests that exceed the limits." },
                    { "const": "observe", "description": "Never deny." },
                    {
                        "description": "Enforce for this share of the subjects, always the same ones.",
                        "type": "object",
                        "properties": { "enforce": share },
                        "required": ["enforce"],
                        "additionalProperties": false,
                    },
                    {
                        "description": "Enforce for requests that match one of these.",
                        "type": "object",
                        "properties": { "enforce_for": { "type": "array", "items": conditions, "minItems": 1 } },
                        "required": ["enforce_for"],
                        "additionalProperties": false,
                    },
                ],
                "examples": ["observe", { "enforce": "25%" }, { "enforce_for": [{ "org": "acme" }] }],
            })
        })
    }
}
