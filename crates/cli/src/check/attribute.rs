//! `name=value` of the command line.

use std::str::FromStr;

/// One thing that is known of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Attribute {
    type Err = String;

    /// The first `=` divides; a value may have more of them.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Ok(Self { name: name.to_owned(), value: value.to_owned() })
            }
            _ => Err("an attribute is name=value, for instance path=/login".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_equals_sign_divides() {
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
