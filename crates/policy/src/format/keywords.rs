//! Enums of keywords.

use serde_json::{Value, json};

use super::{Schemas, expected};
use crate::diagnostics::{Diagnostics, quote};
use crate::suggest::closest;
use crate::yaml::{Kind, Node};

/// Declares an enum of keywords with its [`Format`](crate::format::Format). The first variant is
/// the default.
#[macro_export]
macro_rules! keywords {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis enum $Name:ident {
            $first:ident = $first_word:literal: $first_text:literal,
            $($variant:ident = $word:literal: $text:literal,)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
        $visibility enum $Name {
            #[default]
            #[doc = $first_text]
            $first,
            $(#[doc = $text] $variant,)*
        }

        $crate::keywords! {
            impl $Name: [$($doc),+] {
                $first = $first_word: $first_text, $($variant = $word: $text,)*
            }
        }
    };
    (impl $Name:ident: [$($doc:literal),+] { $($variant:ident = $word:literal: $text:literal,)+ }) => {
        impl $crate::format::Format for $Name {
            type Value = Self;

            fn read(node: &$crate::yaml::Node, diagnostics: &$crate::Diagnostics) -> Option<Self> {
                $crate::format::keyword(node, &[$(($word, Self::$variant)),+], diagnostics)
            }

            fn schema(schemas: &mut $crate::format::Schemas) -> $crate::format::schema::Value {
                let words = [$(($word, $text)),+];
                $crate::format::keyword_schema(schemas, stringify!($Name), &[$($doc),+], &words)
            }
        }
    };
}

/// Value of one of a few keywords.
pub fn keyword<T: Copy>(node: &Node, words: &[(&'static str, T)], diagnostics: &Diagnostics) -> Option<T> {
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    let help = format!("write one of {}", names.join(", "));
    let Kind::Scalar { text, .. } = &node.kind else {
        expected(node, "a keyword", &help, diagnostics);
        return None;
    };
    if let Some((_, value)) = words.iter().find(|(name, _)| name == text) {
        return Some(*value);
    }
    let message = match closest(text, &names) {
        _ if node.is_null() => "expected a keyword, found nothing".to_owned(),
        Some(name) => format!("unknown value {}: did you mean `{name}`?", quote(text)),
        None => format!("unknown value {}", quote(text)),
    };
    diagnostics.report(node.at, message, help);
    None
}

/// JSON Schema of an enum of keywords, by its name, the lines of its description, and its words.
pub fn keyword_schema(
    schemas: &mut Schemas,
    name: &'static str,
    lines: &[&str],
    words: &[(&str, &str)],
) -> Value {
    schemas.refer(name, |_| {
        let form =
            |(word, text): &(&str, &str)| json!({ "type": "string", "const": word, "description": text });
        json!({
            "oneOf": words.iter().map(form).collect::<Vec<_>>(),
            "description": super::schema::prose(lines),
        })
    })
}
