//! Formats: how the values of a file are read, and their JSON Schema, declared in one place.
//!
//! A [`Format`] reads a node of the tree and describes itself as a schema.
//! [`section!`](crate::section) declares a mapping: its fields with their formats, defaults and
//! descriptions. [`keywords!`](crate::keywords) declares an enum of words. Other crates declare
//! their own sections of the file with them, and read them from [`Fields`].

mod check;
mod fields;
mod keywords;
mod scalars;
pub mod schema;
mod secret;
mod section;
mod units;

use serde_json::Value;
pub use serde_json::json;

use crate::diagnostics::{Diagnostics, PolicyErrors};
use crate::file::Span;
use crate::yaml::{Kind, Node};

pub use crate::diagnostics::InvalidValue;
pub use check::{Checked, ValueCheck};
pub use fields::{Fields, expected};
pub use keywords::{keyword, keyword_schema};
pub use schema::Schemas;
pub use secret::Secret;
pub(crate) use units::window_pattern;
pub use units::{Size, parse_duration};

/// Format of a value in a file.
pub trait Format {
    /// Type of the value.
    type Value;

    /// Whether errors must not repeat the value.
    const IS_SECRET: bool = false;

    /// Value of a node. `None`: the node is invalid, and that was reported.
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value>;

    /// JSON Schema of the format.
    fn schema(schemas: &mut Schemas) -> Value;

    /// Value in place of a required field that is missing, or `None` if the mapping is invalid
    /// without it.
    fn missing(_at: Span) -> Option<Self::Value> {
        None
    }
}

/// Default of a field, given as in the file.
pub fn default_value<F: Format>(default: Value) -> F::Value {
    peek::<F>(&node(default)).expect("the default of a field is valid")
}

/// Value of a text outside a file, such as a flag. Reports all errors.
pub fn parse<F: Format>(text: &str) -> Result<F::Value, PolicyErrors> {
    let diagnostics = Diagnostics::new("value", text);
    let value = F::read(&node(text.into()), &diagnostics);
    diagnostics.into_result()?;
    Ok(value.expect("an invalid value was reported"))
}

/// Value of a node, if it is valid. Errors are not reported: for checks across fields, after all
/// were read.
pub fn peek<F: Format>(node: &Node) -> Option<F::Value> {
    F::read(node, &Diagnostics::new("", ""))
}

/// Node of a JSON value, without positions.
fn node(value: Value) -> Node {
    let kind = match value {
        Value::Array(items) => Kind::Sequence(items.into_iter().map(|item| node(item).into()).collect()),
        Value::String(text) => Kind::Scalar { text, plain: false },
        other => Kind::Scalar { text: other.to_string(), plain: true },
    };
    Node { at: Span::default(), kind }
}
