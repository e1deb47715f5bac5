//! JSON objects: the values of some fields, without building a tree.

use std::fmt::{self, Display};
use std::io::Write;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::field_map::{FieldMap, SampleName};
use super::mapped::MappedValues;
use crate::access_log::format::AccessLogFormat;
use crate::access_log::report::UnreadableReason;

/// Lines whose fields are looked at before a file is read.
const SAMPLE_LINES: usize = 100;

/// Different fields that such lines may have.
const MAX_SAMPLE_NAMES: usize = 1000;

/// Finds the values of a line.
pub(super) fn collect(
    line: &[u8],
    map: &FieldMap,
    values: &mut MappedValues,
) -> Result<(), UnreadableReason> {
    let mut path = String::new();
    let mut sink = FieldValues { map, values };
    let mut reader = serde_json::Deserializer::from_slice(line);
    let whole = Walk { path: &mut path, sink: &mut sink }.deserialize(&mut reader);
    whole.and_then(|()| reader.end()).map_err(|_| UnreadableReason::NotJson)
}

/// Names of the fields of the first lines.
pub(super) fn names(first_lines: &[u8]) -> Vec<SampleName> {
    let mut sink = SampleNames::default();
    for line in first_lines.split(|byte| *byte == b'\n').take(SAMPLE_LINES) {
        let mut path = String::new();
        sink.line += 1;
        let mut reader = serde_json::Deserializer::from_slice(line);
        // A line that is not JSON has no names.
        let _ = Walk { path: &mut path, sink: &mut sink }.deserialize(&mut reader);
    }
    sink.names
}

/// Format of a line that begins as an object.
pub(super) fn detect(line: &[u8]) -> Option<AccessLogFormat> {
    let names = names(line);
    let has = |expected: &str| names.iter().any(|field| field.name == expected);
    if names.is_empty() {
        None
    } else if has("ts") && has("duration") && has("request.uri") {
        Some(AccessLogFormat::CaddyJson)
    } else if has("StartUTC") && has("Duration") {
        Some(AccessLogFormat::TraefikJson)
    } else {
        Some(AccessLogFormat::JsonLines)
    }
}

/// Receiver of fields by their path.
trait FieldSink {
    /// Whether to go into a field.
    fn wants(&self, path: &str) -> bool;
    /// Text or number of a field.
    fn value(&mut self, path: &str, value: &dyn Display);
}

/// Values of the fields of a map.
struct FieldValues<'w> {
    map: &'w FieldMap,
    values: &'w mut MappedValues,
}

impl FieldSink for FieldValues<'_> {
    fn wants(&self, path: &str) -> bool {
        let is_within = |name: &str| match name.strip_prefix(path) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        };
        self.map.names().any(is_within)
    }

    fn value(&mut self, path: &str, value: &dyn Display) {
        for (field, name) in self.map.names().enumerate() {
            // The first of a list, as of the values of a header.
            if name == path && self.values.get(field).is_empty() {
                let start = self.values.text.len();
                // Writing to memory does not fail.
                let _ = write!(self.values.text, "{value}");
                self.values.set(field, start);
            }
        }
    }
}

#[derive(Default)]
struct SampleNames {
    names: Vec<SampleName>,
    /// Number of the line, from 1.
    line: usize,
}

impl FieldSink for SampleNames {
    fn wants(&self, _: &str) -> bool {
        self.names.len() < MAX_SAMPLE_NAMES
    }

    fn value(&mut self, path: &str, _: &dyn Display) {
        match self.names.iter_mut().find(|field| field.name == path) {
            // A list has several values.
            Some(field) if field.last_line == self.line => {}
            Some(field) => (field.lines, field.last_line) = (field.lines + 1, self.line),
            None => self.names.push(SampleName { name: path.to_owned(), lines: 1, last_line: self.line }),
        }
    }
}

/// Walk through a value, whose path is known.
struct Walk<'w, S> {
    path: &'w mut String,
    sink: &'w mut S,
}

impl<'de, S: FieldSink> DeserializeSeed<'de> for Walk<'_, S> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, S: FieldSink> Visitor<'de> for Walk<'_, S> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { path, sink } = self;
        let parent = path.len();
        while map.next_key_seed(KeyPath { path })?.is_some() {
            if sink.wants(path) {
                map.next_value_seed(Walk { path, sink })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            path.truncate(parent);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let Self { path, sink } = self;
        while values.next_element_seed(Walk { path, sink })?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.sink.value(self.path, &text);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.sink.value(self.path, &number);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.sink.value(self.path, &number);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.sink.value(self.path, &number);
        Ok(())
    }

    fn visit_bool<E>(self, truth: bool) -> Result<(), E> {
        self.sink.value(self.path, &truth);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Appends a key to a path.
struct KeyPath<'w> {
    path: &'w mut String,
}

impl<'de> DeserializeSeed<'de> for KeyPath<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyPath<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(key);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_paths() {
        let lines = b"{\"a\":1,\"b\":{\"c\":[\"x\"],\"d\":null}}\nnot JSON\n{\"a\":2,\"e.f\":true}";
        let names = names(lines);
        let names: Vec<(&str, usize)> = names.iter().map(|field| (&*field.name, field.lines)).collect();
        assert_eq!(names, [("a", 2), ("b.c", 1), ("e.f", 1)]);
    }
}
