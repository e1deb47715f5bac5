//! What a policy file may look like: as a JSON Schema for editors, and as a page to read.

mod flow_style;
mod markdown;
mod shapes;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

pub use markdown::markdown;

use super::file::File;

/// The JSON Schema of a policy file. An editor that knows it completes fields, explains them and marks what is wrong.
///
/// It is of draft 7, which all editors know. What only the meaning of several fields can tell is left to
/// [`Policy::parse`](super::Policy::parse).
pub fn json() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<File>();
    on_one_line(&mut schema);
    schema.to_value()
}

/// Comments in the source are wrapped; what they say is one line.
fn on_one_line(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    transform_subschemas(&mut on_one_line, schema);
}

/// The fields that have to be there, with spaces between them; all others may be left out. (A list could not stand in an attribute.)
pub(super) struct Only(pub(super) &'static str);

impl Transform for Only {
    fn transform(&mut self, schema: &mut Schema) {
        schema.remove("required");
        let required: Vec<&str> = self.0.split_whitespace().collect();
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
    }
}

/// A whole number, which may also be a text with `_` between its digits.
pub(super) fn whole<const LEAST: u64, const MOST: u64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["integer", "string"],
        "minimum": LEAST,
        "maximum": MOST,
        "pattern": format!("^{COUNT}$"),
    })
}

/// An address and a port.
pub(super) fn socket(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "title": "address and port",
        "type": "string",
        "pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):[0-9]{1,5}$",
    })
}

/// Addresses and CIDRs.
pub(super) fn networks(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "title": "addresses or CIDRs", "type": "string", "pattern": r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" },
    })
}

/// Digits, with `_` between them where that reads better.
const COUNT: &str = "[0-9]+(_+[0-9]+)*";
