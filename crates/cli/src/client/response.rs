//! Response of a server, safe to print: clients choose values in it, which must not reach a
//! terminal as escape sequences.

use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Map, Value};

use super::ClientError;
use slidegate_tune::printable::{is_control, printable};

/// Members whose text the server writes itself and which may have several lines.
const MULTILINE_MEMBERS: [&str; 2] = ["detail", "last_error"];

/// Response of a server.
#[derive(Debug)]
pub(crate) struct ServerResponse {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl ServerResponse {
    /// The body as a JSON object, with control characters in its texts escaped.
    pub(crate) fn object(&self) -> Result<Value, ClientError> {
        let object = serde_json::from_slice(&self.body).ok().filter(Value::is_object);
        Ok(sanitize(object.ok_or(ClientError::NotJson(self.status))?, false))
    }

    /// The body as JSON text for programs, with control characters as JSON escapes.
    pub(crate) fn json(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let render = |c: char| match c {
            '\n' | '\t' => c.to_string(),
            _ if is_control(c) => json_escape(c),
            _ => c.to_string(),
        };
        text.chars().map(render).collect()
    }
}

fn json_escape(c: char) -> String {
    let mut units = [0; 2];
    c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

fn sanitize(value: Value, multiline: bool) -> Value {
    match value {
        Value::String(text) => Value::String(escaped(&text, multiline)),
        Value::Array(all) => all.into_iter().map(|value| sanitize(value, multiline)).collect(),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| {
                    let value = sanitize(value, MULTILINE_MEMBERS.contains(&name.as_str()));
                    (escaped(&name, false), value)
                })
                .collect::<Map<_, _>>(),
        ),
        other => other,
    }
}

fn escaped(text: &str, multiline: bool) -> String {
    match multiline {
        true => text.split('\n').map(printable).collect::<Vec<_>>().join("\n"),
        false => printable(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn response(value: &Value) -> ServerResponse {
        ServerResponse { status: StatusCode::OK, body: value.to_string().into() }
    }

    #[test]
    fn a_response_has_no_control_characters() {
        let hostile = "a\u{1b}[31m\u{9b}2J\u{7}\r\n\u{7f}\u{202e}é🦀";
        let value = json!({ hostile: [hostile, { "detail": "one\ntwo\u{1b}" }], "number": 5 });
        let response = response(&value);
        let text = response.object().expect("an object").to_string();
        assert!(text.chars().all(|c| !is_control(c)), "{text:?}");
        let object = response.object().expect("an object");
        let escaped = "a\\u{1b}[31m\\u{9b}2J\\u{7}\\u{d}\\u{a}\\u{7f}\\u{202e}é🦀";
        assert_eq!(object[escaped][0], escaped);
        assert_eq!(object[escaped][1]["detail"], "one\ntwo\\u{1b}");
        assert_eq!(object["number"], 5);
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = json!({ "key": "a\u{1b}\u{9b}\u{7f}\u{202e}é🦀\n" });
        let text = response(&value).json();
        assert!(text.chars().all(|c| !is_control(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    }
}
