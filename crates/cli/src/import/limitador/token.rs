//! Tokens of a condition.

use std::fmt;

/// Token of a condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ConditionToken {
    Name(String),
    Text(String),
    Number(String),
    Sign(&'static str),
}

/// Operators and punctuation, longest first.
const SIGNS: [&str; 20] = [
    "==", "!=", "&&", "||", "<=", ">=", "!", "(", ")", "[", "]", ",", ".", "<", ">", "+", "-", "*", "/", "?",
];

impl fmt::Display for ConditionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(text) | Self::Number(text) => write!(f, "`{text}`"),
            Self::Text(text) => write!(f, "'{text}'"),
            Self::Sign(sign) => write!(f, "`{sign}`"),
        }
    }
}

pub(super) fn tokens(text: &str) -> Result<Vec<ConditionToken>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, len) = match first {
            '\'' | '"' => quoted(rest, first)?,
            '0'..='9' => {
                let number = leading(rest, |c| c.is_ascii_alphanumeric() || c == '.');
                (ConditionToken::Number(number.to_owned()), number.len())
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let name = leading(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                (ConditionToken::Name(name.to_owned()), name.len())
            }
            _ => {
                let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
                let sign = sign.ok_or_else(|| format!("a rule cannot express `{first}`"))?;
                (ConditionToken::Sign(sign), sign.len())
            }
        };
        tokens.push(token);
        rest = rest[len..].trim_start();
    }
    Ok(tokens)
}

fn leading(text: &str, belongs: impl Fn(char) -> bool) -> &str {
    &text[..text.find(|c| !belongs(c)).unwrap_or(text.len())]
}

/// Parses a quoted text. Escapes are an error, because their meaning depends on the version of
/// Limitador.
fn quoted(text: &str, quote: char) -> Result<(ConditionToken, usize), String> {
    let within = &text[1..];
    let end = within.find(quote).ok_or("unclosed quote")?;
    let value = &within[..end];
    if value.contains('\\') || value.is_empty() && within[end + 1..].starts_with(quote) {
        return Err("the meaning of escapes and triple quotes depends on the version of Limitador".to_owned());
    }
    Ok((ConditionToken::Text(value.to_owned()), end + 2))
}
