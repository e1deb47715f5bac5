//! Answer of a server, safe to print: values in it come from clients, and a terminal would obey escape sequences.

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Map, Value};

/// Members that the server writes itself, line by line.
const OF_SEVERAL_LINES: [&str; 2] = ["detail", "last_error"];

/// What came back.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Answered {
    /// The JSON object that it is. Characters that a terminal would obey are written as escapes.
    pub(crate) fn object(&self) -> Option<Value> {
        let object = serde_json::from_slice(&self.body).ok().filter(Value::is_object)?;
        Some(printable(object, false))
    }

    /// The same JSON for programs: escapes within JSON mean the same characters.
    pub(crate) fn json(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let shown = |c: char| match c {
            '\n' | '\t' => c.to_string(),
            _ if is_obeyed(c) => json_escape(c),
            _ => c.to_string(),
        };
        text.chars().map(shown).collect()
    }
}

/// Whether it does something to a terminal, or to the order of the text in it, instead of being shown.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn json_escape(c: char) -> String {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn printable(value: Value, several_lines: bool) -> Value {
    match value {
        Value::String(text) => Value::String(escaped(&text, several_lines)),
        Value::Array(all) => all.into_iter().map(|value| printable(value, several_lines)).collect(),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| {
                    let value = printable(value, OF_SEVERAL_LINES.contains(&name.as_str()));
                    (escaped(&name, false), value)
                })
                .collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

fn escaped(text: &str, several_lines: bool) -> String {
    let shown = |c: char| match c {
        '\n' if several_lines => c.to_string(),
        _ if is_obeyed(c) => c.escape_unicode().to_string(),
        _ => c.to_string(),
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answered(value: &Value) -> Answered {
        Answered { status: StatusCode::OK, body: value.to_string().into() }
    }

    #[test]
    fn nothing_in_an_answer_moves_a_terminal() {
        let hostile = "a\u{1b}[31m\u{9b}2J\u{7}\r\n\u{7f}\u{202e}é🦀";
        let value = json!({ hostile: [hostile, { "detail": "one\ntwo\u{1b}" }], "number": 5 });
        let answered = answered(&value);
        let text = answered.object().expect("an object").to_string();
        assert!(text.chars().all(|c| !is_obeyed(c)), "{text:?}");
        let object = answered.object().expect("an object");
        let shown = "a\\u{1b}[31m\\u{9b}2J\\u{7}\\u{d}\\u{a}\\u{7f}\\u{202e}é🦀";
        assert_eq!(object[shown][0], shown);
        assert_eq!(object[shown][1]["detail"], "one\ntwo\\u{1b}");
        assert_eq!(object["number"], 5);
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = json!({ "key": "a\u{1b}\u{9b}\u{7f}\u{202e}é🦀\n" });
        let text = answered(&value).json();
        assert!(text.chars().all(|c| !is_obeyed(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }
}
