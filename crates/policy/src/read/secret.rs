//! Reader of secrets, which no error repeats: tokens, and URLs with a password.

use super::super::diagnostics::Diagnostics;
use super::super::file::Spanned;
use super::super::yaml::{Kind, Node, ScalarType, scalar_type};
use super::Read;
use super::fields::expected;

/// String that no error repeats, because errors end up in logs.
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn reveal(Spanned { at, value }: Spanned<Self>) -> Spanned<String> {
        Spanned { at, value: value.map(|Self(text)| text) }
    }
}

impl Read for Secret {
    const IS_SECRET: bool = true;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        const REMEDY: &str = "quote it";
        match &node.kind {
            Kind::Scalar { text, plain } => {
                let what = match scalar_type(text, *plain) {
                    ScalarType::Text if !text.is_empty() => return Some(Self(text.clone())),
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
