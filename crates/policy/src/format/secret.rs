//! Reader of secrets, which no error repeats: tokens, and URLs with a password.

use std::fmt;
use std::ops::Deref;

use serde_json::Value;

use super::{Format, Schemas, expected};
use crate::diagnostics::Diagnostics;
use crate::yaml::{Kind, Node, ScalarType, scalar_type};

/// String that neither errors nor debug output repeat, because they end up in logs.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Format for Secret {
    type Value = Self;

    const IS_SECRET: bool = true;

    fn schema(schemas: &mut Schemas) -> Value {
        String::schema(schemas)
    }

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        const REMEDY: &str = "quote it";
        match &node.kind {
            Kind::Scalar { text, plain } => {
                let what = match scalar_type(text, *plain) {
                    ScalarType::Text if !text.is_empty() => return Some(Self(text.as_str().into())),
                    ScalarType::Text => {
                        diagnostics.report(node.at, "empty string", "write at least one character");
                        return None;
                    }
                    ScalarType::Number => "a number",
                    ScalarType::Boolean(_) => "a boolean",
                    ScalarType::Null => "nothing",
                };
                diagnostics.report(node.at, format!("expected a string, found {what}"), REMEDY);
            }
            _ => expected(node, "a string", REMEDY, diagnostics),
        }
        None
    }
}
