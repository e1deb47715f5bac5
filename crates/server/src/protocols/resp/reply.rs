//! Replies as bytes, in either version of the protocol.

use super::integer;
use super::integer::MAX_LINE_BYTES;

/// Version of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Protocol {
    /// RESP2, which every client supports.
    #[default]
    Two,
    /// RESP3, with maps and a null.
    Three,
}

/// Writer of replies.
pub(super) struct ReplyWriter<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) protocol: Protocol,
}

impl ReplyWriter<'_> {
    #[inline]
    pub(super) fn integer(&mut self, number: i64) {
        let mut line = [0; MAX_LINE_BYTES];
        let length = integer::write(number, &mut line);
        self.out.extend_from_slice(&line[..length]);
    }

    /// Simple string: a text without line ends.
    pub(super) fn simple(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    pub(super) fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// Error reply. Line ends become spaces, since it may quote the client.
    pub(super) fn error(&mut self, text: &str) {
        self.out.push(b'-');
        let clean = text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
        self.out.extend(clean);
        self.out.extend_from_slice(b"\r\n");
    }

    pub(super) fn bulk(&mut self, bytes: &[u8]) {
        self.length(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Verbatim string: a text for people.
    pub(super) fn verbatim(&mut self, text: &str) {
        match self.protocol {
            Protocol::Two => self.bulk(text.as_bytes()),
            Protocol::Three => {
                self.length(b'=', text.len() + 4);
                self.out.extend_from_slice(b"txt:");
                self.out.extend_from_slice(text.as_bytes());
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    pub(super) fn nothing(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Two => b"$-1\r\n",
            Protocol::Three => b"_\r\n",
        });
    }

    /// Head of an array.
    pub(super) fn array(&mut self, elements: usize) {
        self.length(b'*', elements);
    }

    /// Head of a map of names and values.
    pub(super) fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Two => self.length(b'*', pairs * 2),
            Protocol::Three => self.length(b'%', pairs),
        }
    }

    /// Head of a set.
    pub(super) fn set(&mut self, elements: usize) {
        match self.protocol {
            Protocol::Two => self.length(b'*', elements),
            Protocol::Three => self.length(b'~', elements),
        }
    }

    /// Array of five numbers, as most replies are.
    #[inline]
    pub(super) fn five(&mut self, numbers: [i64; 5]) {
        // Assembled on the stack, so that the buffer grows at most once.
        let (mut text, mut end) = ([0; 4 + 5 * MAX_LINE_BYTES], 4);
        text[..4].copy_from_slice(b"*5\r\n");
        for number in numbers {
            let line = text[end..].first_chunk_mut().expect("there is room for five");
            end += integer::write(number, line);
        }
        self.out.extend_from_slice(&text[..end]);
    }

    #[inline]
    fn length(&mut self, kind: u8, length: usize) {
        if length < 10 {
            return self.out.extend_from_slice(&[kind, b'0' + length as u8, b'\r', b'\n']);
        }
        self.line(kind, itoa::Buffer::new().format(length).as_bytes());
    }

    #[inline]
    fn line(&mut self, kind: u8, bytes: &[u8]) {
        self.out.push(kind);
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_byte_by_byte() {
        type Write = fn(&mut ReplyWriter<'_>);
        let rows: [(Write, &str, &str); 12] = [
            (|to| to.integer(-7), ":-7\r\n", ":-7\r\n"),
            (|to| to.integer(123_456), ":123456\r\n", ":123456\r\n"),
            (|to| to.simple("PONG"), "+PONG\r\n", "+PONG\r\n"),
            (|to| to.ok(), "+OK\r\n", "+OK\r\n"),
            (|to| to.error("ERR a\r\n-b"), "-ERR a  -b\r\n", "-ERR a  -b\r\n"),
            (|to| to.bulk(b"a\r\nb"), "$4\r\na\r\nb\r\n", "$4\r\na\r\nb\r\n"),
            (|to| to.verbatim("a"), "$1\r\na\r\n", "=5\r\ntxt:a\r\n"),
            (|to| to.nothing(), "$-1\r\n", "_\r\n"),
            (|to| to.array(2), "*2\r\n", "*2\r\n"),
            (|to| to.map(2), "*4\r\n", "%2\r\n"),
            (|to| to.set(2), "*2\r\n", "~2\r\n"),
            (
                |to| to.five([1, i64::MIN, 0, -1, 1_000]),
                "*5\r\n:1\r\n:-9223372036854775808\r\n:0\r\n:-1\r\n:1000\r\n",
                "*5\r\n:1\r\n:-9223372036854775808\r\n:0\r\n:-1\r\n:1000\r\n",
            ),
        ];
        for (write, two, three) in rows {
            for (protocol, bytes) in [(Protocol::Two, two), (Protocol::Three, three)] {
                let mut out = Vec::new();
                write(&mut ReplyWriter { out: &mut out, protocol });
                assert_eq!(String::from_utf8(out).as_deref(), Ok(bytes), "{protocol:?}");
            }
        }
    }
}
