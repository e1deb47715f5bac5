//! Texts as a policy has to have them: plain where nothing can be mistaken, in double quotes otherwise.

use std::fmt::Write;

/// What YAML readers take for something else than a text, old ones included.
const WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A text as a scalar, in brackets or not.
pub(super) fn text(text: &str) -> String {
    let starts = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/');
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-');
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if text.starts_with(starts) && text.chars().all(goes_on) && !is_word {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            ' ' => out.push(c),
            _ if c.is_ascii_graphic() || c.is_alphanumeric() => out.push(c),
            // Writing to a text cannot fail.
            _ => _ = write!(out, "\\U{:08X}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// Texts as a list.
pub(super) fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|one| text(one)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A text within a comment or a warning: short, and on one line.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    let mut shown: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    shown = shown.replace("\\'", "'").replace("\\\"", "\"");
    if text.chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_they_have_to_be() {
        let table = [
            ("users", "users"),
            ("/v1/items", "/v1/items"),
            ("req.path", "req.path"),
            ("a b", "\"a b\""),
            ("", "\"\""),
            ("5", "\"5\""),
            ("-", "\"-\""),
            ("No", "\"No\""),
            ("null", "\"null\""),
            ("a: b", "\"a: b\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
            ("é", "\"é\""),
            ("a\nb", "\"a\\U0000000Ab\""),
            ("#a", "\"#a\""),
            ("a\u{7f}", "\"a\\U0000007F\""),
        ];
        for (plain, expected) in table {
            assert_eq!(text(plain), expected);
        }
    }

    #[test]
    fn comments_stay_on_their_line() {
        assert_eq!(shown("a\nb 'c' \"d\""), "a\\nb 'c' \"d\"");
        assert_eq!(shown(&"x".repeat(81)), format!("{}…", "x".repeat(80)));
    }
}
