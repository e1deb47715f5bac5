//! Whole numbers in JSON bodies, with an error that names the range.

use std::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

use crate::protocols::json_body;

/// Number from 0 to 2^64 − 1, for `deserialize_with`.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_u64(WholeVisitor)
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u64::MAX)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        json_body::whole(number).ok_or_else(|| E::invalid_type(Unexpected::Float(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }
}
