//! Texts that no error repeats: tokens, and addresses with a password in them.

use super::super::diagnostics::Problems;
use super::super::file::Spot;
use super::super::yaml::{Kind, Meaning, Node, meaning};
use super::Read;
use super::fields::expected;

/// A text that no error repeats: errors end up in logs.
pub(super) struct Secret(String);

impl Secret {
    pub(super) fn told(Spot { at, value }: Spot<Self>) -> Spot<String> {
        Spot { at, value: value.map(|Self(text)| text) }
    }
}

impl Read for Secret {
    const IS_SECRET: bool = true;

    fn read(node: &Node, problems: &Problems) -> Option<Self> {
        const REMEDY: &str = "put it in quotes";
        match &node.kind {
            Kind::Scalar { text, plain } => {
                let what = match meaning(text, *plain) {
                    Meaning::Text if !text.is_empty() => return Some(Self(text.clone())),
                    Meaning::Text => {
                        problems.report(node.at, "this text is empty", "write at least one character");
                        return None;
                    }
                    Meaning::Number => "a number",
                    Meaning::Boolean(_) => "true or false",
                    Meaning::Nothing => "nothing",
                };
                problems.report(node.at, format!("this has to be a text, and this is {what}"), REMEDY);
            }
            _ => expected(node, "this has to be a text", REMEDY, problems),
        }
        None
    }
}
