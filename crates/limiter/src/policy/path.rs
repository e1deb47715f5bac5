//! A request's path as servers read it, so that another spelling of it does not slip past a rule.
//!
//! - The query and the fragment are cut off.
//! - Escapes are decoded once (`/%6cogin` is `/login`), but for those of `/` and NUL, which would make other segments, or
//!   other texts, of it; they stay, in capitals. So does what is no escape (`%zz`).
//! - Empty segments do not count (`//login/` is `/login`), nor does `.`; `..` goes up, but not above the root. This comes after
//!   decoding: `/a/%2e%2e/login` is `/login`.
//! - Case matters.
//!
//! Most paths are written that way already, and are then only borrowed.

use std::borrow::Cow;

/// What a path consists of: segments that are not empty, with a `/` between each two.
#[derive(Clone, Debug)]
pub(super) struct Path<'r> {
    text: Cow<'r, [u8]>,
}

impl<'r> Path<'r> {
    pub(super) fn read(text: &'r str) -> Self {
        let bytes = text.as_bytes();
        let bytes = bytes.strip_prefix(b"/").unwrap_or(bytes);
        let (path, is_plain) = scan(bytes);
        let text = if is_plain { Cow::Borrowed(path) } else { Cow::Owned(resolved(path)) };
        Self { text }
    }

    pub(super) fn segments(&self) -> impl Iterator<Item = &[u8]> {
        let none_if_empty = (!self.text.is_empty()).then_some(&*self.text);
        none_if_empty.into_iter().flat_map(|text| text.split(|byte| *byte == b'/'))
    }

    /// The segment of this index, which it has to have.
    pub(super) fn segment(&self, index: usize) -> Cow<'r, [u8]> {
        self.part(|text| text.split(|byte| *byte == b'/').nth(index).unwrap_or_default())
    }

    /// All from the segment of this index on.
    pub(super) fn segments_from(&self, index: usize) -> Cow<'r, [u8]> {
        self.part(|text| text.splitn(index + 1, |byte| *byte == b'/').nth(index).unwrap_or_default())
    }

    fn part(&self, of: impl FnOnce(&[u8]) -> &[u8]) -> Cow<'r, [u8]> {
        match &self.text {
            Cow::Borrowed(text) => Cow::Borrowed(of(text)),
            Cow::Owned(text) => Cow::Owned(of(text).to_vec()),
        }
    }
}

/// The path without what follows it, and whether nothing in it has to be read otherwise than it is written.
fn scan(bytes: &[u8]) -> (&[u8], bool) {
    let is_odd = |segment: &[u8]| matches!(segment, b"" | b"." | b"..");
    let (mut is_plain, mut start, mut end) = (true, 0, bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'/' => {
                is_plain &= !is_odd(&bytes[start..at]);
                start = at + 1;
            }
            b'%' => is_plain = false,
            b'?' | b'#' => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    if start < end {
        return (&bytes[..end], is_plain && !is_odd(&bytes[start..end]));
    }
    // A slash at the end, or nothing at all.
    (&bytes[..start.saturating_sub(1)], is_plain)
}

fn resolved(path: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(path.len());
    for segment in path.split(|byte| *byte == b'/') {
        let before = text.len();
        if before > 0 {
            text.push(b'/');
        }
        let start = text.len();
        decode(segment, &mut text);
        match &text[start..] {
            b"" | b"." => text.truncate(before),
            b".." => {
                let parent = text[..before].iter().rposition(|byte| *byte == b'/').unwrap_or(0);
                text.truncate(parent);
            }
            _ => {}
        }
    }
    text
}

/// Appends a segment with its escapes decoded.
pub(super) fn decode(segment: &[u8], text: &mut Vec<u8>) {
    let mut rest = segment;
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, escaped(rest)) {
            (b'%', Some(byte)) => {
                match byte {
                    b'/' => text.extend(b"%2F"),
                    0 => text.extend(b"%00"),
                    _ => text.push(byte),
                }
                rest = &rest[2..];
            }
            _ => text.push(*first),
        }
    }
}

/// The byte that two hexadecimal digits stand for.
fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| (*digits.get(at)? as char).to_digit(16);
    Some((digit(0)? * 16 + digit(1)?) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let path = Path::read(text);
        let segments = path.segments().map(|segment| format!("/{}", String::from_utf8_lossy(segment)));
        let text: String = segments.collect();
        if text.is_empty() { "/".to_owned() } else { text }
    }

    #[test]
    fn paths_are_read_as_servers_do() {
        let table = [
            ("/login", "/login"),
            ("login", "/login"),
            ("", "/"),
            ("/", "/"),
            ("//", "/"),
            ("/login/", "/login"),
            ("//login", "/login"),
            ("/login//", "/login"),
            ("/a///b", "/a/b"),
            ("/login?next=/", "/login"),
            ("/login/?next=/", "/login"),
            ("/login#top", "/login"),
            ("/login?a#b", "/login"),
            ("?a=/b", "/"),
            ("/./login", "/login"),
            ("/login/.", "/login"),
            ("/x/../login", "/login"),
            ("/x/y/../../login", "/login"),
            ("/../login", "/login"),
            ("/../../x/../login", "/login"),
            ("/login/..", "/"),
            ("/a/b/..", "/a"),
            ("/a/b/../", "/a"),
            ("/%6cogin", "/login"),
            ("/%6Cogin", "/login"),
            ("/%6c%6f%67%69%6e", "/login"),
            ("/x/%2e%2e/login", "/login"),
            ("/x/.%2E/login", "/login"),
            ("/%2e/login", "/login"),
            ("/login%3Fa", "/login?a"),
            ("/login%23a", "/login#a"),
            ("/caf%C3%A9", "/café"),
            ("/café", "/café"),
            // Neither another segment nor another text.
            ("/a%2Fb", "/a%2Fb"),
            ("/a%2fb", "/a%2Fb"),
            ("/x%2f..%2flogin", "/x%2F..%2Flogin"),
            ("/login%00", "/login%00"),
            // Decoded once.
            ("/%256cogin", "/%6cogin"),
            ("/x/%252e%252e/login", "/x/%2e%2e/login"),
            // No escapes.
            ("/100%", "/100%"),
            ("/%zz", "/%zz"),
            ("/%6", "/%6"),
            ("/%", "/%"),
            ("/%+6c", "/%+6c"),
            ("/%%6cogin", "/%login"),
            // Names that only look like dots.
            ("/.well-known/x", "/.well-known/x"),
            ("/...", "/..."),
            ("/a..", "/a.."),
            // Case matters.
            ("/Login", "/Login"),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_plain_is_borrowed() {
        for plain in ["/", "/login", "/users/42/", "/.well-known/x", "/a?b=%20", "/a#..", "", "a/b"] {
            assert!(matches!(Path::read(plain).text, Cow::Borrowed(_)), "{plain}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told_apart() {
        let bytes = |text| Path::read(text).segment(0).into_owned();
        assert_eq!(bytes("/%ff"), [0xff]);
        assert_ne!(bytes("/%ff"), bytes("/%fe"));
    }

    #[test]
    fn parts_of_a_path() {
        for text in ["/files/a/b/c", "/files//a/./b/c"] {
            let path = Path::read(text);
            assert_eq!(&*path.segment(0), b"files");
            assert_eq!(&*path.segment(3), b"c");
            assert_eq!(&*path.segments_from(0), b"files/a/b/c");
            assert_eq!(&*path.segments_from(1), b"a/b/c");
            assert_eq!(&*path.segments_from(3), b"c");
        }
    }
}
