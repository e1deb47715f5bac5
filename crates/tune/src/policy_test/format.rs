//! Formats of the values in a test file.

use std::time::Duration;

use jiff::Timestamp;
use slidegate::policy::Diagnostics;
use slidegate::policy::format::{Format, Schemas, expected, json, parse_duration, schema};
use slidegate::policy::yaml::{Kind, Node};

/// Time of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepTime {
    /// Time since the start of the test.
    After(Duration),
    /// Unix time in milliseconds.
    At(u64),
}

/// Help on how to write a timestamp.
const TIMESTAMP: &str = "write a time with its offset, as in `2026-03-01T12:00:00Z`";

/// Milliseconds of a timestamp; `None` before 1970.
fn timestamp_ms(text: &str) -> Option<u64> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_millisecond()).ok()
}

fn scalar<'n>(node: &'n Node, what: &str, help: &str, diagnostics: &Diagnostics) -> Option<&'n str> {
    match &node.kind {
        Kind::Scalar { text, .. } if !node.is_null() => Some(text.trim()),
        _ => {
            expected(node, what, help, diagnostics);
            None
        }
    }
}

impl Format for StepTime {
    type Value = Self;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let help =
            format!("write a duration since the start of the test, as in `30s`, or {}", &TIMESTAMP[6..]);
        let text = scalar(node, "a time", &help, diagnostics)?;
        // Only a timestamp has a colon.
        if text.contains(':') {
            return TimestampMs::read(node, diagnostics).map(Self::At);
        }
        match parse_duration(text) {
            Ok(duration) => Some(Self::After(duration)),
            Err(help) => {
                diagnostics.report(node.at, format!("invalid time {}", node.describe()), help);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> schema::Value {
        json!({ "type": ["string", "integer"], "examples": ["0s", "30s", "2026-03-01T12:00:00Z"] })
    }
}

/// Unix time in milliseconds, from a timestamp.
#[derive(Debug)]
pub(super) struct TimestampMs;

impl Format for TimestampMs {
    type Value = u64;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<u64> {
        let text = scalar(node, "a timestamp", TIMESTAMP, diagnostics)?;
        let at_ms = timestamp_ms(text);
        if at_ms.is_none() {
            diagnostics.report(node.at, format!("invalid timestamp {}", node.describe()), TIMESTAMP);
        }
        at_ms
    }

    fn schema(_: &mut Schemas) -> schema::Value {
        json!({ "type": "string", "format": "date-time" })
    }
}

/// Value of an attribute: text. A number or a boolean counts as its text.
#[derive(Debug)]
pub(super) struct AttributeText;

impl Format for AttributeText {
    type Value = String;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<String> {
        let help = "write a value; `\"\"` is the empty string";
        match &node.kind {
            Kind::Scalar { text, .. } if !node.is_null() => Some(text.clone()),
            _ => {
                expected(node, "a value", help, diagnostics);
                None
            }
        }
    }

    fn schema(_: &mut Schemas) -> schema::Value {
        json!({ "type": ["string", "number", "boolean"] })
    }
}
