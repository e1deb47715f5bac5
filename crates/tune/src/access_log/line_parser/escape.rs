//! Escapes in logged text: where a quoted field ends, and what was written.

use std::borrow::Cow;

/// How a server writes what it does not write as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::access_log) enum Escape {
    /// Everything is as it is.
    None,
    /// `\x22` (nginx), `\"` and `\n` (Apache).
    Backslash,
    /// `#22` (HAProxy).
    Hash,
}

/// End of a quoted field whose quotes are escaped by `\`, if they are not written `\x22`.
#[inline]
pub(super) fn quote_end(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + memchr::memchr(b'"', &text[from..])?;
        let backslashes = text[..end].iter().rev().take_while(|byte| **byte == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(end);
        }
        from = end + 1;
    }
}

/// Text as it was before it was escaped. `-` stands for nothing.
#[inline]
pub(super) fn unescape(field: &[u8], escape: Escape) -> Cow<'_, [u8]> {
    if field == b"-" {
        return Cow::Borrowed(b"");
    }
    let mark = match escape {
        Escape::None => None,
        Escape::Backslash => memchr::memchr(b'\\', field),
        Escape::Hash => memchr::memchr(b'#', field),
    };
    if mark.is_some() { Cow::Owned(unescape_bytes(field, escape)) } else { Cow::Borrowed(field) }
}

/// Bytes that were escaped. What is no escape stays as it is.
#[cold]
fn unescape_bytes(field: &[u8], escape: Escape) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let (byte, used) = match (escape, first) {
            (Escape::Backslash, b'\\') => backslash(after),
            (Escape::Hash, b'#') => hex(after),
            _ => None,
        }
        .unwrap_or((first, 0));
        bytes.push(byte);
        rest = &after[used..];
    }
    bytes
}

/// Byte behind a backslash, and how long its name is.
fn backslash(after: &[u8]) -> Option<(u8, usize)> {
    let byte = match after.first()? {
        b'x' => return hex(&after[1..]).map(|(byte, used)| (byte, used + 1)),
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        byte @ (b'"' | b'\\' | b'/') => *byte,
        _ => return None,
    };
    Some((byte, 1))
}

fn hex(after: &[u8]) -> Option<(u8, usize)> {
    let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
    Some(((digit(0)? * 16 + digit(1)?) as u8, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        let rows: [(&[u8], Escape, &str); 9] = [
            (br"/a\x22b", Escape::Backslash, "/a\"b"),
            (br#"/a\"b\\c"#, Escape::Backslash, "/a\"b\\c"),
            (br"/\xC3\xA9", Escape::Backslash, "/é"),
            (br"/\xc3\xa9\t\q", Escape::Backslash, "/é\t\\q"),
            (br"/a\", Escape::Backslash, "/a\\"),
            (b"/a#22b#23", Escape::Hash, "/a\"b#"),
            (b"/a#2", Escape::Hash, "/a#2"),
            (br"/a\x22#22", Escape::None, r"/a\x22#22"),
            (b"-", Escape::None, ""),
        ];
        for (field, escape, expected) in rows {
            assert_eq!(&*unescape(field, escape), expected.as_bytes(), "{}", field.escape_ascii());
        }
    }

    #[test]
    fn quoted_fields_end_at_a_quote_that_is_not_escaped() {
        let rows: [(&[u8], Option<usize>); 5] = [
            (br#"a" "#, Some(1)),
            (br#"a\" " "#, Some(4)),
            (br#"a\\" " "#, Some(3)),
            (br#"a\""#, None),
            (b"", None),
        ];
        for (text, expected) in rows {
            assert_eq!(quote_end(text), expected, "{}", text.escape_ascii());
        }
    }
}
