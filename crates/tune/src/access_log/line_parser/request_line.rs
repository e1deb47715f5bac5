//! Request line: method and target.

/// Method and target of `GET /path HTTP/1.1`; of `GET /path`, as HTTP/0.9 has it.
#[inline]
pub(super) fn split(request: &[u8]) -> Option<(&[u8], &[u8])> {
    let (method, target) = split_method(request)?;
    let target = &target[..protocol_start(target)];
    (!target.is_empty()).then_some((method, target))
}

/// Method, and what is behind the space that follows it.
#[inline]
fn split_method(request: &[u8]) -> Option<(&[u8], &[u8])> {
    // Methods are so short that a search by words of the machine costs more.
    let space = request.iter().position(|byte| *byte == b' ')?;
    let method = &request[..space];
    let is_method = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    (!method.is_empty() && method != b"-" && method.iter().all(is_method))
        .then(|| (method, &request[space + 1..]))
}

/// Where ` HTTP/1.1` begins.
#[inline]
fn protocol_start(text: &[u8]) -> usize {
    const LAST: usize = " HTTP/1.1".len();
    if text.len() >= LAST && text[text.len() - LAST..].starts_with(b" HTTP/") {
        return text.len() - LAST;
    }
    match memchr::memrchr(b' ', text) {
        Some(space) if text[space + 1..].starts_with(b"HTTP/") => space,
        _ => text.len(),
    }
}

/// Method, target and what follows the closing quote, of a request line whose quotes are not escaped: it ends at
/// the first protocol that is followed by a status.
pub(super) fn split_unescaped(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    for protocol in memchr::memmem::find_iter(text, b" HTTP/") {
        let version = &text[protocol + 6..];
        let quote = version.iter().take(4).position(|byte| *byte == b'"');
        let Some(rest) = quote.and_then(|quote| version[quote + 1..].strip_prefix(b" ")) else { continue };
        if rest.first().is_some_and(u8::is_ascii_digit) {
            let (method, target) = split_method(&text[..protocol])?;
            return (!target.is_empty()).then_some((method, target, rest));
        }
    }
    None
}

/// Status at the start of a text, and what follows the space behind it.
#[inline]
pub(super) fn status(text: &[u8]) -> Option<(Option<u16>, &[u8])> {
    if let [hundreds, tens, ones, b' ', rest @ ..] = text {
        let digits = [hundreds, tens, ones].map(|digit| u16::from(digit.wrapping_sub(b'0')));
        if digits.iter().all(|digit| *digit < 10) {
            return Some((Some(digits[0] * 100 + digits[1] * 10 + digits[2]), rest));
        }
    }
    // No response, written as 0, - or -1.
    let (word, rest) = text.split_at_checked(memchr::memchr(b' ', text)?)?;
    matches!(word, b"0" | b"-" | b"-1" | b"000").then_some((None, &rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_lines() {
        let rows: [(&str, Option<(&str, &str)>); 11] = [
            ("GET / HTTP/1.1", Some(("GET", "/"))),
            ("GET /a?b=c HTTP/2", Some(("GET", "/a?b=c"))),
            ("GET /a b HTTP/1.0", Some(("GET", "/a b"))),
            ("GET /a", Some(("GET", "/a"))),
            ("M-SEARCH * HTTP/1.1", Some(("M-SEARCH", "*"))),
            ("GET  HTTP/1.1", None),
            ("-", None),
            ("- - HTTP/1.1", None),
            (r"\x16\x03\x01 x", None),
            ("", None),
            (" ", None),
        ];
        for (request, expected) in rows {
            let expected = expected.map(|(method, target)| (method.as_bytes(), target.as_bytes()));
            assert_eq!(split(request.as_bytes()), expected, "{request}");
        }
    }

    #[test]
    fn unescaped_request_lines() {
        let line = br#"GET /a"b HTTP/1.1"c HTTP/1.1" 200 12 "x HTTP/1.1" 500 "#;
        let (method, target, rest) = split_unescaped(line).expect("a request line");
        assert_eq!((method, target), (&b"GET"[..], &br#"/a"b HTTP/1.1"c"#[..]));
        assert_eq!(rest, br#"200 12 "x HTTP/1.1" 500 "#);
    }

    #[test]
    fn statuses() {
        for (text, expected) in [("200 5", Some(200)), ("0 5", None), ("- 5", None), ("-1 5", None)] {
            assert_eq!(status(text.as_bytes()), Some((expected, &b"5"[..])), "{text}");
        }
        for text in ["20x 5", "200", "", "2000 5"] {
            assert_eq!(status(text.as_bytes()), None, "{text}");
        }
    }
}
