//! JSON written into a buffer, member by member, without a tree or a description of its shape.

/// String with its quotes.
#[inline]
pub fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    escaped(out, text);
    out.push(b'"');
}

/// Escaped content of a string, without the quotes.
#[inline]
pub fn escaped(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    // A loop without an early exit reads many bytes at once, and hardly any text has something to
    // escape.
    if bytes.iter().fold(true, |plain, byte| plain & is_plain(*byte)) {
        return out.extend_from_slice(bytes);
    }
    let mut written = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if is_plain(byte) {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        escape(out, byte);
        written = at + 1;
    }
    out.extend_from_slice(&bytes[written..]);
}

fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

fn escape(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    match byte {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        _ => {
            let digits = [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]];
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&digits);
        }
    }
}

/// Whole number.
#[inline]
pub fn number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Whole number, or `null`.
#[inline]
pub fn number_or_null(out: &mut Vec<u8>, value: Option<u64>) {
    match value {
        Some(value) => number(out, value),
        None => out.extend_from_slice(b"null"),
    }
}

/// String after `before`, which is the name of its member.
#[inline]
pub fn put_text(out: &mut Vec<u8>, before: &str, value: &str) {
    out.extend_from_slice(before.as_bytes());
    text(out, value);
}

/// Whole number after `before`, which is the name of its member.
#[inline]
pub fn put_number(out: &mut Vec<u8>, before: &str, value: u64) {
    out.extend_from_slice(before.as_bytes());
    number(out, value);
}

/// Whole number or `null` after `before`, which is the name of its member.
#[inline]
pub fn put_number_or_null(out: &mut Vec<u8>, before: &str, value: Option<u64>) {
    out.extend_from_slice(before.as_bytes());
    number_or_null(out, value);
}

/// Commas between the items of a list, or the members of an object.
#[derive(Default, Debug)]
pub struct Commas(bool);

impl Commas {
    /// Writes a comma before every item but the first.
    pub fn next(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.0, true) {
            out.push(b',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_read_back_as_it_was() {
        let every: String = (0..=0x17f_u32).chain([0x2028, 0x1f600]).filter_map(char::from_u32).collect();
        for original in ["", "plain", "a \"quote\"", "back\\slash", "\u{1}\u{1f}", &every] {
            let mut out = Vec::new();
            text(&mut out, original);
            let read: String = serde_json::from_slice(&out).expect("JSON");
            assert_eq!(read, original);
        }
    }

    #[test]
    fn numbers_are_whole() {
        let mut out = Vec::new();
        number(&mut out, u64::MAX);
        out.push(b' ');
        number_or_null(&mut out, None);
        assert_eq!(out, b"18446744073709551615 null");
    }
}
