//! Formats with a check.

use std::marker::PhantomData;

use serde_json::Value;

use super::{Format, Schemas};
use crate::diagnostics::{Diagnostics, InvalidValue};
use crate::yaml::Node;

/// Check of the values of another format, which may also convert them.
pub trait ValueCheck {
    /// Format of the unchecked value.
    type Base: Format;
    /// Type of the checked value.
    type Value;

    /// Checked value, or why it is invalid.
    fn check(value: <Self::Base as Format>::Value) -> Result<Self::Value, InvalidValue>;

    /// JSON Schema: that of the other format, unless the check can be part of it.
    fn schema(schemas: &mut Schemas) -> Value {
        Self::Base::schema(schemas)
    }
}

/// Format of a [`ValueCheck`].
#[derive(Debug)]
pub struct Checked<C>(PhantomData<C>);

impl<C: ValueCheck> Format for Checked<C> {
    type Value = C::Value;

    const IS_SECRET: bool = C::Base::IS_SECRET;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<C::Value> {
        match C::check(C::Base::read(node, diagnostics)?) {
            Ok(value) => Some(value),
            Err(error) => {
                error.report(node.at, diagnostics);
                None
            }
        }
    }

    fn schema(schemas: &mut Schemas) -> Value {
        C::schema(schemas)
    }
}
