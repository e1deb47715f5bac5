//! Schema of the policy file: JSON Schema for editors, and the reference page.

mod flow_style;
mod markdown;
mod shapes;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

pub use markdown::markdown;

use super::file::File;

/// JSON Schema of the policy file. Editors use it to complete fields, explain them and mark errors.
///
/// It is of draft 7, which all editors support. Checks across fields are left to
/// [`Policy::parse`](super::Policy::parse).
pub fn json() -> Value {
    let mut schema = SchemaSettings::draft07().into_generator().into_root_schema_for::<File>();
    on_one_line(&mut schema);
    schema.to_value()
}

/// Joins the lines of descriptions, which come from wrapped comments.
fn on_one_line(schema: &mut Schema) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    transform_subschemas(&mut on_one_line, schema);
}

/// Names of the required fields, separated by spaces. (An attribute cannot contain a list.)
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

/// Whole number, or a string of digits with `_` between them.
pub(super) fn whole<const LEAST: u64, const MOST: u64>(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["integer", "string"],
        "minimum": LEAST,
        "maximum": MOST,
        "pattern": format!("^{COUNT}$"),
    })
}

/// Socket address.
pub(super) fn socket(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "title": "address and port",
        "type": "string",
        "pattern": r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|\[[0-9A-Fa-f:.]+(%[0-9]+)?\]):[0-9]{1,5}$",
    })
}

/// Addresses and CIDR blocks.
pub(super) fn networks(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": { "title": "addresses or CIDR blocks", "type": "string", "pattern": r"^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$" },
    })
}

/// Digits, optionally with `_` between them.
const COUNT: &str = "[0-9]+(_+[0-9]+)*";
