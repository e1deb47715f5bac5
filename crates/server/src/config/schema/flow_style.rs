//! Values in the flow style of YAML, on one line.

use serde_json::Value;

pub(super) fn yaml(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(yaml).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name}: {}", yaml(value));
            format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Whether a string needs no quotes: it has no special characters, and is not read as another type.
fn is_plain(text: &str) -> bool {
    let is_special = |c: char| !c.is_ascii_alphanumeric() && !"/._%:-".contains(c);
    let first = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
    let means_text = text.parse::<f64>().is_err() && !matches!(text, "true" | "false" | "null");
    first && means_text && !text.ends_with(':') && !text.contains(is_special)
}
