//! Interpretations by servers of the characters of a path, and then of its segments.

use smallvec::SmallVec;

use super::MAX_READINGS;

/// Characters that belong to no segment by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Matrix {
    /// `;` is a character like any other.
    Included,
    /// Dropped from `;` to the next `/`, both as they were sent.
    DroppedAsSent,
    /// Dropped from `;` to the next separator after decoding.
    DroppedDecoded,
}

/// One way to take the characters of a path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    matrix: Matrix,
    /// `%2F` separates segments.
    escaped_slash: bool,
    /// `\` separates segments.
    backslash: bool,
    /// `%5C` separates segments.
    escaped_backslash: bool,
    /// Escapes of letters, digits and `-._~` are decoded.
    unreserved: bool,
    /// `#` ends the path.
    fragment: bool,
}

/// Characters of a path that servers read differently.
#[derive(Default)]
struct Differences {
    semicolon: bool,
    escaped_semicolon: bool,
    escaped_slash: bool,
    backslash: bool,
    escaped_backslash: bool,
    unreserved: bool,
    fragment: bool,
}

impl Differences {
    fn of(path: &[u8]) -> Self {
        let mut found = Self::default();
        for (at, byte) in path.iter().enumerate() {
            match (byte, escaped(&path[at + 1..])) {
                (b';', _) => found.semicolon = true,
                (b'\\', _) => found.backslash = true,
                (b'#', _) => found.fragment = true,
                (b'%', Some(b';')) => found.escaped_semicolon = true,
                (b'%', Some(b'/')) => found.escaped_slash = true,
                (b'%', Some(b'\\')) => found.escaped_backslash = true,
                (b'%', Some(byte)) if is_unreserved(byte) => found.unreserved = true,
                _ => {}
            }
        }
        found
    }

    fn matrices(&self) -> &'static [Matrix] {
        match (self.semicolon, self.escaped_semicolon) {
            (true, _) => &[Matrix::DroppedDecoded, Matrix::DroppedAsSent, Matrix::Included],
            (false, true) => &[Matrix::DroppedDecoded, Matrix::Included],
            (false, false) => &[Matrix::Included],
        }
    }
}

impl Spelling {
    /// The one that drops and separates most. A `#` stays: in a part of a path it has been decoded.
    pub(super) const LEAST: Self = Self {
        matrix: Matrix::DroppedDecoded,
        escaped_slash: true,
        backslash: true,
        escaped_backslash: true,
        unreserved: true,
        fragment: false,
    };

    /// All ways to take this path, the one that drops and separates most first. `None`: there are
    /// too many.
    pub(super) fn all_of(path: &[u8]) -> Option<SmallVec<[Self; 8]>> {
        let differences = Differences::of(path);
        let matrices = differences.matrices().iter();
        let mut all: SmallVec<[Self; 8]> =
            matrices.map(|matrix| Self { matrix: *matrix, fragment: true, ..Self::LEAST }).collect();
        let mut or = |differs: bool, change: fn(&mut Self)| {
            if differs {
                let mut others = all.clone();
                others.iter_mut().for_each(change);
                all.extend(others);
            }
        };
        or(differences.escaped_slash, |spelling| spelling.escaped_slash = false);
        or(differences.backslash, |spelling| spelling.backslash = false);
        or(differences.escaped_backslash, |spelling| spelling.escaped_backslash = false);
        or(differences.unreserved, |spelling| spelling.unreserved = false);
        or(differences.fragment, |spelling| spelling.fragment = false);
        (all.len() <= MAX_READINGS).then_some(all)
    }

    /// The path in these terms: decoded once, every separator a `/`. Slashes and NUL that separate
    /// nothing stay escaped, in capitals. So does every percent sign, and one that begins no escape
    /// is escaped: what is written here can be read again.
    pub(super) fn write(self, path: &[u8]) -> Vec<u8> {
        let mut text = Vec::with_capacity(path.len());
        let mut is_dropped = false;
        let mut rest = path;
        while let [first, after @ ..] = rest {
            rest = after;
            let escape = if *first == b'%' { escaped(after) } else { None };
            if escape.is_some() {
                rest = &after[2..];
            }
            let byte = escape.unwrap_or(*first);
            let is_separator = match (byte, escape) {
                (b'/', None) => true,
                (b'/', Some(_)) => self.escaped_slash,
                (b'\\', None) => self.backslash,
                (b'\\', Some(_)) => self.escaped_backslash,
                _ => false,
            };
            match byte {
                b'#' if escape.is_none() && self.fragment => break,
                b';' if self.drops(escape) => is_dropped = true,
                _ if is_separator => {
                    let was_sent = byte == b'/' && escape.is_none();
                    is_dropped &= self.matrix == Matrix::DroppedAsSent && !was_sent;
                    if !is_dropped {
                        text.push(b'/');
                    }
                }
                _ if is_dropped => {}
                b'%' => push_escape(byte, &mut text),
                b'/' | 0 if escape.is_some() => push_escape(byte, &mut text),
                _ if escape.is_some() && !self.unreserved && is_unreserved(byte) => {
                    push_escape(byte, &mut text);
                }
                _ => text.push(byte),
            }
        }
        text
    }

    /// The texts that servers make of a path in these terms, the one with least in it first. Matrix
    /// parameters that stay may be dropped by a server behind the one that resolves dots, which
    /// then resolves what is left.
    pub(super) fn texts(self, path: &[u8]) -> Vec<Vec<u8>> {
        let texts = resolutions(self.write(path));
        let mut behind = Vec::new();
        // The last is not resolved: without its parameters it is another spelling's.
        if let (Matrix::Included, [resolved @ .., _]) = (self.matrix, &*texts) {
            let with_matrix = resolved.iter().filter(|text| text.contains(&b';'));
            behind.extend(with_matrix.flat_map(|text| resolutions(without_matrix(text))));
        }
        texts.into_iter().chain(behind).collect()
    }

    /// Whether matrix parameters begin at a `;`.
    fn drops(self, escape: Option<u8>) -> bool {
        match self.matrix {
            Matrix::Included => false,
            Matrix::DroppedAsSent => escape.is_none(),
            Matrix::DroppedDecoded => true,
        }
    }
}

/// The texts that servers resolve a text to: first what is left if empty segments are dropped and
/// then dots resolved; last the text itself.
pub(super) fn resolutions(text: Vec<u8>) -> SmallVec<[Vec<u8>; 5]> {
    let is_odd = |segment: &[u8]| matches!(segment, b"" | b"." | b"..");
    // A slash at the end is no segment.
    let body = text.strip_suffix(b"/").unwrap_or(&text);
    if body.is_empty() || !body.split(|byte| *byte == b'/').any(is_odd) {
        return SmallVec::from_iter([text]);
    }
    let full = without_empty(&text);
    let resolved = without_dots(&text);
    SmallVec::from_iter([without_dots(&full), without_empty(&resolved), resolved, full, text])
}

/// Without what follows a `;` in every segment.
fn without_matrix(text: &[u8]) -> Vec<u8> {
    let mut is_dropped = false;
    let is_left = |byte: &u8| {
        is_dropped = *byte != b'/' && (is_dropped || *byte == b';');
        !is_dropped
    };
    text.iter().copied().filter(is_left).collect()
}

/// Without empty segments; the slash at the end stays.
fn without_empty(text: &[u8]) -> Vec<u8> {
    let mut full = Vec::with_capacity(text.len());
    for byte in text {
        if *byte != b'/' || full.last().is_some_and(|last| *last != b'/') {
            full.push(*byte);
        }
    }
    full
}

/// `.` is nothing, and `..` goes up, but not above the root.
fn without_dots(text: &[u8]) -> Vec<u8> {
    let mut resolved: Vec<u8> = Vec::with_capacity(text.len());
    // Where the segments begin.
    let mut starts: SmallVec<[usize; 16]> = SmallVec::new();
    let mut segments = text.split(|byte| *byte == b'/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            b"." => {}
            b".." => resolved.truncate(starts.pop().unwrap_or(0)),
            _ => {
                starts.push(resolved.len());
                resolved.extend(segment);
                if segments.peek().is_some() {
                    resolved.push(b'/');
                }
            }
        }
    }
    resolved
}

/// Appends a segment of a template with its escapes decoded, but for those of `/`, `%` and NUL.
pub(in super::super) fn decode(segment: &[u8], text: &mut Vec<u8>) {
    let as_text = Spelling {
        matrix: Matrix::Included,
        escaped_slash: false,
        backslash: false,
        escaped_backslash: false,
        ..Spelling::LEAST
    };
    text.extend(as_text.write(segment));
}

/// A part of a reading with its percent signs as they are meant.
pub(in super::super) fn with_percent_signs(part: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(part.len());
    let mut rest = part;
    while let [first, after @ ..] = rest {
        text.push(*first);
        rest = if rest.starts_with(b"%25") { &after[2..] } else { after };
    }
    text
}

fn push_escape(byte: u8, text: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

/// Characters that no client has to escape, so that nobody expects them escaped.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// The byte that two hexadecimal digits stand for.
fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| (*digits.get(at)? as char).to_digit(16);
    Some((digit(0)? * 16 + digit(1)?) as u8)
}
