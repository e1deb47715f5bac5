//! The call, as the JSON of protocol buffers has it: names in both forms, numbers also as texts, `null` for what is not there.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

use super::UNITS;
use crate::protocols::rls::proto;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct JsonCall {
    #[serde(default, deserialize_with = "given")]
    domain: String,
    #[serde(default, deserialize_with = "given")]
    descriptors: Vec<JsonDescriptor>,
    #[serde(default, alias = "hitsAddend", deserialize_with = "given")]
    hits_addend: JsonNumber<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonDescriptor {
    #[serde(default, deserialize_with = "given")]
    entries: Vec<JsonEntry>,
    #[serde(default)]
    limit: Option<JsonLimit>,
    #[serde(default, alias = "hitsAddend")]
    hits_addend: Option<JsonNumber<u64>>,
    #[serde(default, alias = "isNegativeHits", deserialize_with = "given")]
    is_negative_hits: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonEntry {
    #[serde(default, deserialize_with = "given")]
    key: String,
    #[serde(default, deserialize_with = "given")]
    value: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonLimit {
    #[serde(default, alias = "requestsPerUnit", deserialize_with = "given")]
    requests_per_unit: JsonNumber<u32>,
    #[serde(default, deserialize_with = "given")]
    unit: UnitNumber,
}

/// Value, or its default for `null`.
fn given<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A whole number, which may be written as a text.
#[derive(Clone, Copy, Default)]
struct JsonNumber<T>(T);

impl<'de, T: TryFrom<u64>> Deserialize<'de> for JsonNumber<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = deserializer.deserialize_any(NumberVisitor)?;
        let fits = T::try_from(number).map(Self);
        fits.map_err(|_| D::Error::custom(format_args!("{number} is out of range")))
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

    /// Up to where such numbers are exact.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        if (0.0..=EXACT).contains(&number) && number.fract() == 0.0 {
            return Ok(number as u64);
        }
        Err(E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok());
        number.ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A unit by its name or its number. What is none is told when its limit is made.
#[derive(Clone, Copy, Default)]
struct UnitNumber(i32);

impl<'de> Deserialize<'de> for UnitNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UnitVisitor)
    }
}

struct UnitVisitor;

impl Visitor<'_> for UnitVisitor {
    type Value = UnitNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SECOND, MINUTE, HOUR, DAY, WEEK, MONTH or YEAR")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<UnitNumber, E> {
        let unit = i32::try_from(number).ok().map(UnitNumber);
        unit.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<UnitNumber, E> {
        let unit = UNITS.iter().position(|known| *known == name);
        let unit = unit.and_then(|number| i32::try_from(number).ok()).map(UnitNumber);
        unit.ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
    }
}

impl From<JsonCall> for proto::RateLimitRequest {
    fn from(JsonCall { domain, descriptors, hits_addend: JsonNumber(hits_addend) }: JsonCall) -> Self {
        let descriptors = descriptors.into_iter().map(proto::RateLimitDescriptor::from).collect();
        Self { domain, descriptors, hits_addend }
    }
}

impl From<JsonDescriptor> for proto::RateLimitDescriptor {
    fn from(JsonDescriptor { entries, limit, hits_addend, is_negative_hits }: JsonDescriptor) -> Self {
        let entry =
            |JsonEntry { key, value }: JsonEntry| proto::DescriptorEntry { key, value: value.into_bytes() };
        let limit = limit.map(|limit| proto::RateLimitOverride {
            requests_per_unit: limit.requests_per_unit.0,
            unit: limit.unit.0,
        });
        let hits_addend = hits_addend.map(|JsonNumber(hits)| hits);
        Self { entries: entries.into_iter().map(entry).collect(), limit, hits_addend, is_negative_hits }
    }
}
