//! Values of Envoy's messages in the JSON of protocol buffers: numbers also as texts, enumerations
//! by name or number, `null` for a default.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use crate::protocols::json_body;

/// Names of [`proto::Unit`](super::proto::Unit), by number.
pub(super) const UNITS: [&str; 8] = ["UNKNOWN", "SECOND", "MINUTE", "HOUR", "DAY", "MONTH", "YEAR", "WEEK"];
/// Names of [`proto::Code`](super::proto::Code), by number.
pub(super) const CODES: [&str; 3] = ["UNKNOWN", "OK", "OVER_LIMIT"];

/// Value, or its default for `null`.
pub(super) fn or_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Text as bytes.
pub(super) fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    or_default(deserializer).map(String::into_bytes)
}

/// Whole number, or 0 for `null`.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let number = some_number(deserializer)?.unwrap_or_default();
    u32::try_from(number).map_err(|_| D::Error::custom(format_args!("{number} is out of range")))
}

/// Whole number, if there is one.
pub(super) fn some_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::deserialize(deserializer)?.map(|JsonNumber(number)| number))
}

/// Number of a unit. An unknown one is an error of the limit that has it.
pub(super) fn unit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i32, D::Error> {
    or_default(deserializer).map(|JsonUnit(number)| number)
}

/// Whole number, which may be written as a text.
struct JsonNumber(u64);

impl<'de> Deserialize<'de> for JsonNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor).map(Self)
    }
}

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number, or one as a text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        json_body::whole(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// Unit by its name or its number.
#[derive(Default)]
struct JsonUnit(i32);

impl<'de> Deserialize<'de> for JsonUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnitVisitor).map(Self)
    }
}

struct UnitVisitor;

impl Visitor<'_> for UnitVisitor {
    type Value = i32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<i32, E> {
        i32::try_from(number).map_err(|_| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<i32, E> {
        let number = UNITS.iter().position(|unit| *unit == name);
        number.map(|number| number as i32).ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
    }
}
