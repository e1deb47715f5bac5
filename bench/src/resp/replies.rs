//! Replies, as far as the load generator reads them: their ends, and whether they are as expected.

/// Expected reply to a command.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// Its beginning.
    pub begins: &'static [u8],
    /// Number of its lines.
    pub lines: usize,
}

impl Expected {
    /// Reply of one line, such as `+PONG`.
    pub const fn line(begins: &'static [u8]) -> Self {
        Self { begins, lines: 1 }
    }

    /// Five integers, the first of which says whether it may pass.
    pub const fn five(begins: &'static [u8]) -> Self {
        Self { begins, lines: 6 }
    }

    /// Reply of as many lines with any content.
    pub const fn whatever(self) -> Self {
        Self { begins: b"", ..self }
    }
}

/// Replies that are being read.
#[derive(Debug)]
pub struct Reader {
    expected: Expected,
    /// Lines that are still to come.
    due: usize,
    /// Length of the part of the buffer that was read.
    end: usize,
    /// Start of the reply that is being read.
    begin: usize,
    /// Lines of it that are still to come.
    left: usize,
}

impl Reader {
    /// Reader of this number of replies.
    pub fn new(expected: Expected, replies: usize) -> Self {
        Self { expected, due: replies * expected.lines, end: 0, begin: 0, left: expected.lines }
    }

    /// Looks at what has come, of which the beginning was there before; says whether all has.
    ///
    /// # Panics
    /// If a reply is not the expected one, or is one too many: then the figure would mean something
    /// else.
    pub fn look(&mut self, bytes: &[u8]) -> bool {
        while let Some(length) = bytes[self.end..].iter().position(|&byte| byte == b'\n') {
            self.end += length + 1;
            self.left -= 1;
            self.due = self.due.checked_sub(1).expect("one reply to one command");
            if self.left == 0 {
                let reply = &bytes[self.begin..self.end];
                assert!(reply.starts_with(self.expected.begins), "unexpected: {}", reply.escape_ascii());
                (self.begin, self.left) = (self.end, self.expected.lines);
            }
        }
        self.due == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Expected, Reader};

    const ALLOWED: Expected = Expected::five(b"*5\r\n:1\r\n");

    #[test]
    fn all_has_come_with_the_last_byte() {
        let two = b"*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:60000\r\n*5\r\n:1\r\n:5\r\n:3\r\n:0\r\n:60000\r\n";
        let mut reader = Reader::new(ALLOWED, 2);
        for length in 0..two.len() {
            assert!(!reader.look(&two[..length]));
        }
        assert!(reader.look(two));
        assert!(Reader::new(Expected::line(b"+PONG"), 1).look(b"+PONG\r\n"));
    }

    #[test]
    #[should_panic(expected = "unexpected: *5")]
    fn a_denial_is_not_an_admission() {
        Reader::new(ALLOWED, 1).look(b"*5\r\n:0\r\n:5\r\n:0\r\n:9\r\n:9\r\n");
    }

    #[test]
    #[should_panic(expected = "one reply to one command")]
    fn replies_are_no_longer_than_expected() {
        Reader::new(Expected::line(b"+PONG"), 1).look(b"+PONG\r\n+PONG\r\n");
    }
}
