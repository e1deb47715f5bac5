//! Inline command: a line of words, in quotes where one has spaces, as typed into a terminal.
//!
//! A quoted word is unescaped in place, which is never longer.

/// Position of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ArgumentSpan {
    /// Index of its first byte.
    pub(crate) start: usize,
    /// Index after its last byte.
    pub(crate) end: usize,
}

/// Splits a line into words, unescaped in place. `None` if a quote is not closed, or does not end
/// its word.
pub(super) fn split(line: &mut [u8], words: &mut Vec<ArgumentSpan>) -> Option<()> {
    let mut at = 0;
    loop {
        while line.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        if at == line.len() {
            return Some(());
        }
        let mut word = QuotedWord { line: &mut *line, read: at, written: at };
        word.unquote()?;
        let QuotedWord { read, written, .. } = word;
        words.push(ArgumentSpan { start: at, end: written });
        at = read;
    }
}

/// Whitespace of C, and NUL.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r' | 0)
}

/// Word that is being read.
struct QuotedWord<'a> {
    line: &'a mut [u8],
    read: usize,
    written: usize,
}

impl QuotedWord<'_> {
    fn take(&mut self) -> Option<u8> {
        let byte = self.line.get(self.read).copied()?;
        self.read += 1;
        Some(byte)
    }

    fn put(&mut self, byte: u8) {
        self.line[self.written] = byte;
        self.written += 1;
    }

    fn unquote(&mut self) -> Option<()> {
        while let Some(byte) = self.take() {
            match byte {
                b'"' => return self.double_quoted(),
                b'\'' => return self.single_quoted(),
                _ if is_space(byte) => break,
                _ => self.put(byte),
            }
        }
        Some(())
    }

    fn double_quoted(&mut self) -> Option<()> {
        loop {
            match self.take()? {
                b'"' => return self.end_of_word(),
                b'\\' => {
                    let byte = self.escaped()?;
                    self.put(byte);
                }
                byte => self.put(byte),
            }
        }
    }

    fn single_quoted(&mut self) -> Option<()> {
        loop {
            match self.take()? {
                b'\'' => return self.end_of_word(),
                b'\\' if self.line.get(self.read) == Some(&b'\'') => {
                    self.read += 1;
                    self.put(b'\'');
                }
                byte => self.put(byte),
            }
        }
    }

    /// After a quote comes a space, or nothing.
    fn end_of_word(&self) -> Option<()> {
        self.line.get(self.read).is_none_or(|byte| is_space(*byte)).then_some(())
    }

    fn escaped(&mut self) -> Option<u8> {
        Some(match self.take()? {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 8,
            b'a' => 7,
            b'x' => {
                let digit = |at: usize| self.line.get(at).and_then(|byte| char::from(*byte).to_digit(16));
                match (digit(self.read), digit(self.read + 1)) {
                    (Some(high), Some(low)) => {
                        self.read += 2;
                        (high * 16 + low) as u8
                    }
                    _ => b'x',
                }
            }
            other => other,
        })
    }
}
