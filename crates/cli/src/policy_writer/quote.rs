//! Texts in YAML, quoted where necessary, and in comments.

use std::fmt::Write;

/// Plain scalars that some YAML parsers do not read as text.
const RESERVED_WORDS: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A text as a YAML scalar, in block or flow style.
pub(crate) fn text(text: &str) -> String {
    let starts = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/');
    let goes_on = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-');
    let is_word = RESERVED_WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
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
            // Writing to a string does not fail.
            _ => _ = write!(out, "\\U{:08X}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// Texts as a YAML list.
pub(crate) fn list(texts: &[String]) -> String {
    let quoted: Vec<String> = texts.iter().map(|one| text(one)).collect();
    format!("[{}]", quoted.join(", "))
}

/// A text for a comment or a warning: at most 80 characters, in one line.
pub(crate) fn excerpt(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut excerpt: String = text.chars().take(MAX_CHARS).flat_map(char::escape_debug).collect();
    excerpt = excerpt.replace("\\'", "'").replace("\\\"", "\"");
    if text.chars().nth(MAX_CHARS).is_some() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_where_necessary() {
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
        assert_eq!(excerpt("a\nb 'c' \"d\""), "a\\nb 'c' \"d\"");
        assert_eq!(excerpt(&"x".repeat(81)), format!("{}…", "x".repeat(80)));
    }
}
