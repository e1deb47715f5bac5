//! Secrets in the text of a file: values of `token` and `permit_secret`, and passwords in URLs.
//!
//! The search works on text, not on YAML: most files with errors are not YAML. In doubt it hides
//! more.

use std::collections::HashSet;
use std::ops::Range;

use super::super::suggest::closest;

/// Parts of field names whose values are secret.
const SECRET_WORDS: [&str; 4] = ["token", "secret", "password", "passwd"];
/// Field names that are taken for these when they are misspelt.
const SECRET_FIELDS: [&str; 2] = ["token", "permit_secret"];
/// Maximum length of a field name that can be secret.
const MAX_NAME_BYTES: usize = 64;

/// A text without its secrets, for errors and logs: values of fields such as `token` and
/// `password`, and logins in URLs, are covered character by character, so that all places stay
/// where they are.
pub fn mask_secrets(text: &str) -> String {
    Mask::of(text).cover(text)
}

/// Byte ranges of a text that errors do not repeat, sorted and disjoint.
pub(crate) struct Mask(Vec<Range<usize>>);

impl Mask {
    pub(crate) fn of(text: &str) -> Self {
        let mut ranges = Scan::new(text).ranges();
        passwords(text, &mut ranges);
        ranges.sort_by_key(|range| range.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for range in ranges.into_iter().filter(|range| !range.is_empty()) {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Self(merged)
    }

    /// Whether a byte is part of a secret.
    pub(crate) fn hides(&self, at: usize) -> bool {
        let next = self.0.partition_point(|range| range.end <= at);
        self.0.get(next).is_some_and(|range| range.contains(&at))
    }

    /// The text with a mark for every hidden character, of the same length in bytes and in
    /// characters.
    pub(crate) fn cover(&self, text: &str) -> String {
        let mut covered = String::with_capacity(text.len());
        let mut end = 0;
        for range in &self.0 {
            covered.push_str(&text[end..range.start]);
            covered.extend(text[range.clone()].chars().map(mark));
            end = range.end;
        }
        covered.push_str(&text[end..]);
        covered
    }

    /// The text with `…` for every secret.
    pub(crate) fn elide(&self, text: &str) -> String {
        let mut elided = String::with_capacity(text.len());
        let mut end = 0;
        for range in &self.0 {
            elided.push_str(&text[end..range.start]);
            elided.push('…');
            end = range.end;
        }
        elided.push_str(&text[end..]);
        elided
    }
}

/// Mark in place of a character, as long as it is: places in the text stay where they are.
fn mark(c: char) -> char {
    match c.len_utf8() {
        _ if c == '\n' || c == '\r' => c,
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🞄',
    }
}

/// Search for fields with secret values.
struct Scan<'t> {
    text: &'t str,
    /// Start of the current line.
    line: usize,
    /// Brackets that are open before the current line, and in it.
    open_before: i64,
    open_on_line: i64,
    /// End of the last value that goes to the end of its line or field: what it contains is hidden
    /// already.
    covered: usize,
    ranges: Vec<Range<usize>>,
    aliases: HashSet<&'t str>,
}

impl<'t> Scan<'t> {
    fn new(text: &'t str) -> Self {
        let (ranges, aliases) = (Vec::new(), HashSet::new());
        Self { text, line: 0, open_before: 0, open_on_line: 0, covered: 0, ranges, aliases }
    }

    fn ranges(mut self) -> Vec<Range<usize>> {
        for (at, byte) in self.text.bytes().enumerate() {
            match byte {
                b'\n' => {
                    self.open_before += std::mem::take(&mut self.open_on_line);
                    self.line = at + 1;
                }
                b'{' => self.open_on_line += 1,
                b'}' => self.open_on_line -= 1,
                b':' if is_secret(name_before(&self.text[..at])) => self.value(at),
                _ => {}
            }
        }
        self.anchors();
        self.ranges
    }

    /// Hides the value after the colon of a field.
    fn value(&mut self, colon: usize) {
        let rest = &self.text[colon + 1..];
        let start = self.text.len() - rest.trim_start_matches([' ', '\t']).len();
        let value = &self.text[start..];
        if let Some(alias) = value.strip_prefix('*') {
            self.aliases.extend(anchor_name(alias));
        }
        if let Some(end) = quoted_end(value) {
            self.ranges.push(start..start + end);
        } else if colon >= self.covered {
            self.covered = if self.open_on_line > 0 && !value.starts_with(['{', '[', '"', '\'']) {
                start + value.find([',', '}']).unwrap_or(value.len())
            } else {
                self.block_end(start, colon)
            };
            self.ranges.push(start..self.covered);
        }
    }

    /// End of a value without quotes: that of its line and of the deeper lines below, and between
    /// brackets that of the first line with a comma or a bracket.
    fn block_end(&self, start: usize, colon: usize) -> usize {
        let before = &self.text[self.line.min(colon)..colon];
        let indent = before.len() - before.trim_start_matches([' ', '\t', '-']).len();
        let mut end = line_end(self.text, start);
        let mut ends_here = self.text[start..end].contains([',', '}']);
        while end < self.text.len() {
            let next = line_end(self.text, end + 1);
            let line = &self.text[end + 1..next];
            let is_deeper =
                line.trim().is_empty() || line.len() - line.trim_start_matches(' ').len() > indent;
            if !is_deeper && (self.open_before <= 0 || ends_here) {
                break;
            }
            ends_here |= line.contains([',', '}']);
            end = next;
        }
        end
    }

    /// Hides what secrets refer to by an alias.
    fn anchors(&mut self) {
        (self.open_on_line, self.open_before, self.covered) = (0, 0, 0);
        for (at, _) in self.text.match_indices('&') {
            let name = anchor_name(&self.text[at + 1..]);
            if let Some(name) = name.filter(|name| self.aliases.contains(name)) {
                self.line = at;
                self.value(at + name.len());
            }
        }
    }
}

/// The name of an anchor or an alias that a text begins with.
fn anchor_name(text: &str) -> Option<&str> {
    let name = &text[..text.floor_char_boundary(MAX_NAME_BYTES)];
    let name = name.split(|c: char| c.is_whitespace() || ",[]{}".contains(c)).next();
    name.filter(|name| !name.is_empty())
}

/// The name of the field whose colon follows: a word, or a text in quotes.
fn name_before(before: &str) -> &str {
    let before = before.trim_end();
    let before = &before[before.floor_char_boundary(before.len().saturating_sub(MAX_NAME_BYTES))..];
    for quote in ['"', '\''] {
        if let Some(inside) = before.strip_suffix(quote) {
            return inside.rsplit(quote).next().unwrap_or(inside);
        }
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    &before[before.trim_end_matches(is_word).len()..]
}

/// Whether the value of a field is a secret. A name with escapes may be any.
fn is_secret(name: &str) -> bool {
    if name.is_empty() {
        return false;
    }
    let lower = name.to_lowercase();
    SECRET_WORDS.iter().any(|word| lower.contains(word))
        || name.contains('\\')
        || closest(name, &SECRET_FIELDS).is_some()
}

/// Length of a text in quotes, with what is stuck to the closing one. `None`: there are no quotes,
/// or they stay open.
fn quoted_end(value: &str) -> Option<usize> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut chars = value.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if quote == '"' => drop(chars.next()),
            _ if c == quote && quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) => {
                chars.next();
            }
            _ if c == quote => {
                let rest = &value[at + 1..];
                let stuck = rest.find(|c: char| c.is_whitespace() || ",]}".contains(c));
                return Some(at + 1 + stuck.unwrap_or(rest.len()));
            }
            _ => {}
        }
    }
    None
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |len| from + len)
}

/// Hides names and passwords in URLs: on every line what stands between the first `://` and the
/// last `@`.
fn passwords(text: &str, ranges: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if let Some(at) = line.rfind('@') {
            let scheme = line[..at].find("://").map(|scheme| scheme + "://".len());
            let word = line[..at].rfind([' ', '\t', '"', '\'', '[', ',']).map_or(0, |before| before + 1);
            match scheme {
                Some(login) => ranges.push(start + login..start + at),
                None if line[word..at].contains(':') => ranges.push(start + word..start + at),
                None => {}
            }
        }
        start += line.len();
    }
}
