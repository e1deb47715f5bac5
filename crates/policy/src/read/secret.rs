//! Texts that no error repeats: tokens, and addresses with a password in them.

use super::super::diagnostics::Diagnostics;
use super::super::file::Spanned;
use super::super::yaml::{Kind, Node, ScalarType, scalar_type};
use super::Read;
use super::fields::expected;

/// A text that no error repeats: errors end up in logs.
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn reveal(Spanned { at, value }: Spanned<Self>) -> Spanned<String> {
        Spanned { at, value: value.map(|Self(text)| text) }
    }
}

impl Read for Secret {
    const IS_SECRET: bool = true;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        const REMEDY: &str = "put it in quotes";
        match &node.kind {
            Kind::Scalar { text, plain } => {
                let what = match scalar_type(text, *plain) {
                    ScalarType::Text if !text.is_empty() => return Some(Self(text.clone())),
                    ScalarType::Text => {
                        diagnostics.report(node.at, "this text is empty", "write at least one character");
                        return None;
                    }
                    ScalarType::Number => "a number",
                    ScalarType::Boolean(_) => "true or false",
                    ScalarType::Null => "nothing",
                };
                diagnostics.report(node.at, format!("this has to be a text, and this is {what}"), REMEDY);
            }
            _ => expected(node, "this has to be a text", REMEDY, diagnostics),
        }
        None
    }
}
