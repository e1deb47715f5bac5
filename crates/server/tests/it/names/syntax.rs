//! Sources without their comments and strings, in which no name stands.

/// Comments and strings of a language.
pub(super) struct Syntax {
    /// Ends of the names of files.
    pub(super) extensions: &'static [&'static str],
    line_comment: &'static str,
    block_comment: Option<(&'static str, &'static str)>,
    /// What begins and ends a string, and whether the string may have several lines.
    quotes: &'static [(&'static str, bool)],
    /// Whether there are raw strings, and `'a` that is no string.
    is_rust: bool,
}

pub(super) const SYNTAXES: [Syntax; 4] = [
    Syntax {
        extensions: &["rs"],
        line_comment: "//",
        block_comment: Some(("/*", "*/")),
        quotes: &[("\"", true)],
        is_rust: true,
    },
    Syntax {
        extensions: &["js", "mjs", "ts"],
        line_comment: "//",
        block_comment: Some(("/*", "*/")),
        quotes: &[("`", true), ("\"", false), ("'", false)],
        is_rust: false,
    },
    Syntax {
        extensions: &["py", "pyi"],
        line_comment: "#",
        block_comment: None,
        quotes: &[("\"\"\"", true), ("'''", true), ("\"", false), ("'", false)],
        is_rust: false,
    },
    Syntax {
        extensions: &["lua"],
        line_comment: "--",
        block_comment: None,
        quotes: &[("\"", false), ("'", false)],
        is_rust: false,
    },
];

impl Syntax {
    /// The names of a text, each with the number of its line.
    pub(super) fn names<'t>(&self, text: &'t str) -> Vec<(usize, &'t str)> {
        let (mut names, mut line, mut rest) = (Vec::new(), 1, text);
        while let Some(first) = rest.chars().next() {
            let length = self.literal_length(rest).unwrap_or_else(|| {
                let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                if !first.is_numeric() && end > 0 {
                    names.push((line, &rest[..end]));
                }
                end.max(first.len_utf8())
            });
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
        names
    }

    /// Length of the comment or the string that a text begins with.
    fn literal_length(&self, text: &str) -> Option<usize> {
        if text.starts_with(self.line_comment) {
            return Some(text.find('\n').unwrap_or(text.len()));
        }
        if let Some((begin, end)) = self.block_comment.filter(|(begin, _)| text.starts_with(begin)) {
            return Some(through(text, begin.len(), end));
        }
        if let Some(length) = raw_length(text).or_else(|| character_length(text)).filter(|_| self.is_rust) {
            return Some(length);
        }
        let (quote, has_lines) = self.quotes.iter().find(|(quote, _)| text.starts_with(quote))?;
        Some(string_length(text, quote, *has_lines))
    }
}

/// Length of a text up to and with an end.
fn through(text: &str, from: usize, end: &str) -> usize {
    text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
}

/// Length of a raw string of Rust, such as `br#"a"#`.
fn raw_length(text: &str) -> Option<usize> {
    let raw = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    let begin = text.len() - raw.len() + hashes;
    text[begin..].starts_with('"').then(|| through(text, begin + 1, &format!("\"{}", "#".repeat(hashes))))
}

/// Length of a character of Rust, such as `'"'`; none for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return Some(through(text, 3, "'"));
    }
    let first = inside.chars().next()?.len_utf8();
    inside[first..].starts_with('\'').then_some(first + 2)
}

fn string_length(text: &str, quote: &str, has_lines: bool) -> usize {
    let mut at = quote.len();
    while !text[at..].starts_with(quote) {
        let mut rest = text[at..].chars();
        at += match rest.next() {
            None => return text.len(),
            Some('\n') if !has_lines => return at,
            Some('\\') => 1 + rest.next().map_or(0, char::len_utf8),
            Some(other) => other.len_utf8(),
        };
    }
    at + quote.len()
}
