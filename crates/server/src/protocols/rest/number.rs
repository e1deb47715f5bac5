//! Whole numbers in JSON, with an error that says what one is.

use std::fmt;

use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// For `deserialize_with`: a number from 0 to 2^64 − 1.
pub(crate) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    deserializer.deserialize_u64(WholeVisitor)
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from 0 to {}", u64::MAX)
    }

    /// 3.0 is a whole number too, which some programs write so. Up to where such numbers are exact.
    fn visit_f64<E: Error>(self, number: f64) -> Result<u64, E> {
        const EXACT: f64 = (1_u64 << 53) as f64;
        if (0.0..=EXACT).contains(&number) && number.fract() == 0.0 {
            return Ok(number as u64);
        }
        Err(E::invalid_type(Unexpected::Float(number), &self))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        Ok(number)
    }
}
