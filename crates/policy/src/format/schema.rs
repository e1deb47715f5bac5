//! JSON Schemas of formats, of draft 7, which all editors support.

use serde_json::{Map, json};

pub use serde_json::Value;

/// Definitions of a schema, in the order of their first use.
#[derive(Default, Debug)]
pub struct Schemas {
    definitions: Map<String, Value>,
}

impl Schemas {
    /// Reference to a definition, which `define` adds at its first use.
    pub fn refer(&mut self, name: &'static str, define: impl FnOnce(&mut Self) -> Value) -> Value {
        if !self.definitions.contains_key(name) {
            self.definitions.insert(name.to_owned(), Value::Null);
            let definition = define(self);
            self.definitions[name] = definition;
        }
        json!({ "$ref": format!("#/definitions/{name}") })
    }

    /// All definitions.
    pub fn into_definitions(self) -> Map<String, Value> {
        self.definitions
    }
}

/// Fields of a mapping in a schema.
#[derive(Default, Debug)]
pub struct Properties {
    fields: Map<String, Value>,
    required: Vec<Value>,
}

impl Properties {
    /// Adds a field: the schema of its format, the lines of its description, and further keywords.
    pub fn add(&mut self, name: &str, schema: Value, lines: &[&str], keywords: Value) {
        self.fields.insert(name.to_owned(), property(schema, lines, keywords));
    }

    /// Marks a field as required.
    pub fn require(&mut self, name: &str) {
        self.required.push(name.into());
    }

    /// Schema of the mapping, with further keywords before its description.
    pub fn into_schema(self, keywords: Value, lines: &[&str]) -> Value {
        let mut schema =
            json!({ "type": "object", "additionalProperties": false, "properties": self.fields });
        extend(&mut schema, keywords);
        schema["description"] = prose(lines).into();
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }
}

/// Schema of a field. The keywords beside a reference would be ignored, so that it is wrapped.
fn property(schema: Value, lines: &[&str], keywords: Value) -> Value {
    let description = prose(lines);
    if schema.get("$ref").is_some() {
        let mut wrapper = json!({});
        extend(&mut wrapper, keywords);
        extend(&mut wrapper, json!({ "description": description, "allOf": [schema] }));
        return wrapper;
    }
    let mut field = schema;
    let min_length = field.as_object_mut().and_then(|field| field.remove("minLength"));
    field["description"] = description.into();
    // A pattern says more than a length.
    if let Some(min_length) = min_length.filter(|_| keywords.get("pattern").is_none()) {
        field["minLength"] = min_length;
    }
    extend(&mut field, keywords);
    field
}

fn extend(schema: &mut Value, keywords: Value) {
    if let (Value::Object(schema), Value::Object(keywords)) = (schema, keywords) {
        schema.extend(keywords);
    }
}

/// Lines of a comment as one text.
pub fn prose(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Digits, optionally with `_` between them.
pub const COUNT: &str = "[0-9]+(_+[0-9]+)*";

/// Whole number, or a string of digits with `_` between them.
pub fn whole(least: u64, most: u64) -> Value {
    json!({ "type": ["integer", "string"], "minimum": least, "maximum": most, "pattern": format!("^{COUNT}$") })
}
