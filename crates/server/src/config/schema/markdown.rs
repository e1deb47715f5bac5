//! Reference page of the schema.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::flow_style::yaml;

const INTRO: &str = "\
# The policy file

A policy is one YAML file. Unknown fields are errors, and every error names its line, its column and
what would be right. `slidegate schema > policy.schema.json` writes the JSON Schema from which this
page is generated; the first line of the example points editors to it.

";
/// Longest line of prose.
const MAX_COLUMNS: usize = 100;
const EXAMPLE: &str = include_str!("example.yaml");

/// Reference of the policy file in Markdown, generated from the schema: a section for each type.
pub fn markdown() -> String {
    let schema = super::json();
    let mut page = format!("{INTRO}```yaml\n{EXAMPLE}```\n");
    section(&mut page, "The file", &schema);
    let definitions = schema["definitions"].as_object().into_iter().flatten();
    definitions.for_each(|(name, schema)| section(&mut page, name, schema));
    page
}

fn section(page: &mut String, name: &str, schema: &Value) {
    let _ = write!(page, "\n## {name}\n\n{}\n", wrap(&text(&schema["description"])));
    if let Some(fields) = schema["properties"].as_object() {
        table(page, fields, schema["required"].as_array());
    } else if let Some(forms) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let described = forms.iter().filter(|form| form["description"].is_string());
        let lines =
            described.map(|form| format!("| `{}` | {} |\n", form_text(form), text(&form["description"])));
        let lines: String = lines.collect();
        if !lines.is_empty() {
            let _ = write!(page, "\n| value | meaning |\n|---|---|\n{lines}");
        }
        let links: Vec<String> = forms.iter().filter_map(link).collect();
        if !links.is_empty() {
            let _ = write!(page, "\nThe long forms: {}.\n", links.join(", "));
        }
    }
    if let Some(examples) = schema["examples"].as_array() {
        let lines: String = examples.iter().map(|example| yaml(example) + "\n").collect();
        let _ = write!(page, "\n```yaml\n{lines}```\n");
    }
}

fn table(page: &mut String, fields: &Map<String, Value>, required: Option<&Vec<Value>>) {
    page.push_str("\n| field | type | default | meaning |\n|---|---|---|---|\n");
    for (name, field) in fields {
        let is_needed = required.is_some_and(|names| names.iter().any(|other| other == name));
        let default = match field.get("default") {
            _ if is_needed => "required".to_owned(),
            Some(default) => format!("`{}`", yaml(default)),
            None => String::new(),
        };
        let mut meaning = text(&field["description"]);
        if let Some(example) = field["examples"].as_array().and_then(|examples| examples.last()) {
            let _ = write!(meaning, " Example: `{}`", yaml(example).replace('|', "\\|"));
        }
        let _ = writeln!(page, "| `{name}` | {} | {default} | {meaning} |", kind(field));
    }
}

/// Text of a form.
fn form_text(form: &Value) -> String {
    match (form.get("const"), form["properties"].as_object()) {
        (Some(value), _) => yaml(value),
        (None, Some(fields)) => {
            let fields: Vec<String> = fields.keys().map(|name| format!("{name}: …")).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        (None, None) => kind(form),
    }
}

/// Type in words.
fn kind(schema: &Value) -> String {
    if let Some(link) = schema["allOf"].as_array().and_then(|all| all.iter().find_map(link)) {
        return link;
    }
    if let Some(link) = link(schema) {
        return link;
    }
    if let Some(title) = schema["title"].as_str() {
        return title.to_owned();
    }
    if let Some(forms) = schema["anyOf"].as_array() {
        return forms.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{}`", yaml(value));
    }
    match schema["type"].as_str() {
        Some("array") => format!("list of {}", kind(&schema["items"])),
        Some("object") => format!("map of names to {}", kind(&schema["additionalProperties"])),
        Some("string") => "string".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        _ => "whole number".to_owned(),
    }
}

/// Link to the section of another type.
fn link(schema: &Value) -> Option<String> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    Some(format!("[{name}](#{})", name.to_lowercase()))
}

fn text(description: &Value) -> String {
    description.as_str().unwrap_or_default().replace('|', "\\|")
}

/// Prose in lines of at most [`MAX_COLUMNS`].
fn wrap(prose: &str) -> String {
    let mut wrapped = String::with_capacity(prose.len());
    for line in prose.lines() {
        let mut columns = 0;
        for word in line.split(' ') {
            let width = word.chars().count();
            if columns > 0 && columns + 1 + width > MAX_COLUMNS {
                wrapped.push('\n');
                columns = 0;
            } else if columns > 0 {
                wrapped.push(' ');
                columns += 1;
            }
            wrapped.push_str(word);
            columns += width;
        }
        wrapped.push('\n');
    }
    wrapped.truncate(wrapped.trim_end().len());
    wrapped
}
