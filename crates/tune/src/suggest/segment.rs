//! Segments of paths that are values rather than names: numbers, UUIDs, dates, tokens, hashed files.

/// Longest segment that is taken for a name.
const MAX_NAME_BYTES: usize = 64;
/// Shortest token of hexadecimal digits.
const MIN_HEX_TOKEN: usize = 16;
/// Shortest token of letters and digits.
const MIN_TOKEN: usize = 20;
/// Shortest hash in the name of a file.
const MIN_HASH: usize = 8;
/// Longest extension of the name of a file.
const MAX_EXTENSION: usize = 5;

/// Class of a segment that is a value, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum ValueClass {
    /// Digits.
    Id,
    /// UUID.
    Uuid,
    /// Date: `2026-11-15`.
    Date,
    /// Token: 16 hexadecimal digits or more, or 20 letters and digits or more.
    Token,
    /// Name of a file with a hash before its extension.
    File,
    /// Text that is escaped, or long.
    Text,
    /// One of many names.
    Name,
}

impl ValueClass {
    /// All classes.
    pub(super) const ALL: [Self; 7] =
        [Self::Id, Self::Uuid, Self::Date, Self::Token, Self::File, Self::Text, Self::Name];

    /// Class of a segment; `None` if it looks like a name.
    pub(super) fn of(segment: &str) -> Option<Self> {
        let bytes = segment.as_bytes();
        if bytes.iter().all(u8::is_ascii_digit) {
            Some(Self::Id)
        } else if is_uuid(bytes) {
            Some(Self::Uuid)
        } else if is_date(bytes) {
            Some(Self::Date)
        } else if is_token(bytes) {
            Some(Self::Token)
        } else if is_hashed_file(segment) {
            Some(Self::File)
        } else if bytes.contains(&b'%') || bytes.len() > MAX_NAME_BYTES {
            Some(Self::Text)
        } else {
            None
        }
    }

    /// Name of the parameter that stands for it.
    pub(super) fn parameter(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Uuid => "uuid",
            Self::Date => "date",
            Self::Token => "token",
            Self::File => "file",
            Self::Text => "text",
            Self::Name => "name",
        }
    }

    /// Values of the class, for people.
    pub(super) fn values(self) -> &'static str {
        match self {
            Self::Id => "digits",
            Self::Uuid => "UUIDs",
            Self::Date => "dates",
            Self::Token => "tokens",
            Self::File => "files with a hash in their names",
            Self::Text => "escaped or long texts",
            Self::Name => "many names",
        }
    }
}

fn is_uuid(bytes: &[u8]) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, &u8)| if is_dash(at) { *byte == b'-' } else { byte.is_ascii_hexdigit() };
    bytes.len() == 36 && bytes.iter().enumerate().all(fits)
}

fn is_date(bytes: &[u8]) -> bool {
    let is_dash = |at: usize| matches!(at, 4 | 7);
    let fits = |(at, byte): (usize, &u8)| if is_dash(at) { *byte == b'-' } else { byte.is_ascii_digit() };
    bytes.len() == 10 && bytes.iter().enumerate().all(fits)
}

fn is_token(bytes: &[u8]) -> bool {
    let is_hex = bytes.len() >= MIN_HEX_TOKEN && bytes.iter().all(u8::is_ascii_hexdigit);
    is_hex || {
        bytes.len() >= MIN_TOKEN
            && bytes.iter().all(u8::is_ascii_alphanumeric)
            && bytes.iter().any(u8::is_ascii_digit)
            && bytes.iter().any(u8::is_ascii_alphabetic)
    }
}

/// Whether it is like `app.3f9a02bc.js` or `index-DkWq3xZ1.css`.
fn is_hashed_file(segment: &str) -> bool {
    let Some((stem, extension)) = segment.rsplit_once('.') else { return false };
    // `app.3f9a02bc.min.js` and `app.3f9a02bc.js.map` have two extensions.
    let stem = match stem.rsplit_once('.') {
        Some((inner, second)) if is_extension(second) && !is_hash(second) => inner,
        _ => stem,
    };
    is_extension(extension) && stem.rsplit(['.', '-', '_']).next().is_some_and(is_hash)
}

fn is_extension(text: &str) -> bool {
    (1..=MAX_EXTENSION).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether it is hexadecimal with a digit, or has digits and letters of both cases.
fn is_hash(text: &str) -> bool {
    let any = |of: fn(&u8) -> bool| text.as_bytes().iter().any(of);
    let all = |of: fn(&u8) -> bool| text.as_bytes().iter().all(of);
    let is_mixed =
        all(u8::is_ascii_alphanumeric) && any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase);
    text.len() >= MIN_HASH && any(u8::is_ascii_digit) && (all(u8::is_ascii_hexdigit) || is_mixed)
}

/// Segments of a path that all servers read alike; `None` for a path that some read differently,
/// or that has no segments that could be compared.
pub(super) fn segments(path: &str) -> Option<impl Iterator<Item = &str>> {
    let path = path.split(['?', '#']).next().unwrap_or_default().strip_prefix('/')?;
    let path = path.strip_suffix('/').filter(|path| !path.is_empty()).unwrap_or(path);
    let is_odd = |segment: &str| {
        matches!(segment, "" | "." | "..")
            || segment.chars().any(|c| c.is_control() || matches!(c, ';' | '\\'))
            || has_odd_escape(segment)
    };
    if !path.is_empty() && path.split('/').any(is_odd) {
        return None;
    }
    Some(path.split('/').filter(|segment| !segment.is_empty()))
}

/// Whether an escape is broken, or one that servers do not all decode: of a separator, a dot, a
/// percent sign, a semicolon or a control character.
fn has_odd_escape(segment: &str) -> bool {
    segment.split('%').skip(1).any(|rest| {
        let byte = rest.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        byte.is_none_or(|byte| byte.is_ascii_control() || b"/\\.%;".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_from_names() {
        let rows = [
            ("17", Some(ValueClass::Id)),
            ("00000000000000000000000000", Some(ValueClass::Id)),
            ("2b1e0f5a-9f4e-4a77-8a55-0c5d1b2e3f40", Some(ValueClass::Uuid)),
            ("2026-11-15", Some(ValueClass::Date)),
            ("d41d8cd98f00b204", Some(ValueClass::Token)),
            ("abcdefabcdefabcd", Some(ValueClass::Token)),
            ("d41d8cd98f00b20", None),
            ("01ARZ3NDEKTSV4RRFFQ69G5FAV", Some(ValueClass::Token)),
            ("internationalisationen", None),
            ("app.3f9a02bc.js", Some(ValueClass::File)),
            ("app.3f9a02bc.min.js", Some(ValueClass::File)),
            ("3f9a02bc.png", Some(ValueClass::File)),
            ("index-DkWq3xZ1.css", Some(ValueClass::File)),
            ("jquery-3.7.1.min.js", None),
            ("holiday-pictures.html", None),
            ("v1", None),
            ("users", None),
            ("caf%C3%A9", Some(ValueClass::Text)),
            ("how-to-bake-10-cakes", None),
        ];
        for (segment, class) in rows {
            assert_eq!(ValueClass::of(segment), class, "{segment}");
        }
        assert_eq!(ValueClass::of(&"x".repeat(65)), Some(ValueClass::Text));
    }

    #[test]
    fn odd_paths_teach_nothing() {
        let split = |path| segments(path).map(Iterator::collect::<Vec<_>>);
        assert_eq!(split("/"), Some(vec![]));
        assert_eq!(split("/a/b/?q=/c"), Some(vec!["a", "b"]));
        for odd in
            ["", "a", "*", "//", "/a//b", "/a/../b", "/a;x=1", "/a%2Fb", "/a%", "/a%0Ab", "/a\\b", "/a\nb"]
        {
            assert_eq!(split(odd), None, "{odd:?}");
        }
    }
}
