//! Attributes on the command line: `name=value`.

use std::str::FromStr;

/// Attribute of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Attribute {
    type Err = String;

    /// Splits at the first `=`; a value may contain more.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("expected NAME=VALUE, for example path=/login".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_equals_sign_splits() {
        let rows = [("a=b", "a", "b"), ("a=b=c", "a", "b=c"), ("a=", "a", ""), ("ä=ö ü", "ä", "ö ü")];
        for (text, name, value) in rows {
            let expected = Attribute { name: name.to_owned(), value: value.to_owned() };
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
        for text in ["", "a", "=b"] {
            assert!(text.parse::<Attribute>().is_err(), "{text}");
        }
    }
}
