//! Lines of an input, a block at a time.

use std::io;

use super::MAX_LINE_BYTES;
use super::input::{BytesError, LogBytes};

/// Bytes that are read at a time: little enough to stay in the cache until they are parsed.
const BLOCK_BYTES: usize = 1 << 17;

/// Reader of whole lines. Its buffer grows up to the longest line.
pub(super) struct LineReader {
    bytes: LogBytes,
    buffer: Vec<u8>,
    /// Bytes in the buffer.
    filled: usize,
    /// Bytes that were handed out.
    used: usize,
    /// Whether the last block is to be handed out again.
    repeats: bool,
    /// Whether the line at the start of the buffer is too long, and is read only to find its end.
    skips: bool,
    /// Whether a line before the last block was too long.
    has_skipped: bool,
    ended: Option<LogEnd>,
}

/// Whole lines, and what happened before them.
pub(super) struct LineBlock<'b> {
    /// Lines with their ends; the last one of a file may have none.
    pub(super) lines: &'b [u8],
    /// Whether a line before these was too long.
    pub(super) has_skipped: bool,
    /// How the input ended, if these are its last lines.
    pub(super) end: Option<LogEnd>,
}

/// How an input ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LogEnd {
    /// As files end.
    Whole,
    /// In compressed data that is damaged.
    Torn,
}

impl LineReader {
    pub(super) fn new(bytes: LogBytes) -> Self {
        Self {
            bytes,
            buffer: Vec::new(),
            filled: 0,
            used: 0,
            repeats: false,
            skips: false,
            has_skipped: false,
            ended: None,
        }
    }

    /// Bytes read of the input as it is.
    pub(super) fn bytes_read(&self) -> u64 {
        self.bytes.bytes_read()
    }

    /// Hands the first block out once more, next time.
    pub(super) fn repeat(&mut self) {
        self.repeats = true;
    }

    /// Next lines.
    pub(super) fn next_block(&mut self) -> io::Result<LineBlock<'_>> {
        if std::mem::take(&mut self.repeats) {
            return Ok(self.block());
        }
        self.buffer.copy_within(self.used..self.filled, 0);
        self.filled -= self.used;
        self.used = 0;
        self.has_skipped = false;
        let mut searched = self.filled;
        while self.ended.is_none() {
            if self.buffer.len() < self.filled + BLOCK_BYTES {
                self.buffer.resize(self.filled + BLOCK_BYTES, 0);
            }
            match self.bytes.read(&mut self.buffer[self.filled..self.filled + BLOCK_BYTES]) {
                Ok(0) => self.ended = Some(LogEnd::Whole),
                Ok(bytes) => self.filled += bytes,
                Err(BytesError::Torn) => self.ended = Some(LogEnd::Torn),
                Err(BytesError::Io(error)) => return Err(error),
            }
            if self.skips {
                match memchr::memchr(b'\n', &self.buffer[..self.filled]) {
                    Some(end) => {
                        self.buffer.copy_within(end + 1..self.filled, 0);
                        self.filled -= end + 1;
                        (self.skips, self.has_skipped, searched) = (false, true, 0);
                    }
                    None => self.filled = 0,
                }
            }
            if let Some(end) = memchr::memrchr(b'\n', &self.buffer[searched..self.filled]) {
                self.used = searched + end + 1;
                return Ok(self.block());
            }
            if self.filled > MAX_LINE_BYTES {
                (self.skips, self.filled) = (true, 0);
            }
            searched = self.filled;
        }
        self.has_skipped |= std::mem::take(&mut self.skips);
        if self.ended == Some(LogEnd::Torn) {
            // Half of a line at most, of which the damage is counted.
            self.filled = 0;
        }
        self.used = self.filled;
        Ok(self.block())
    }

    fn block(&self) -> LineBlock<'_> {
        LineBlock { lines: &self.buffer[..self.used], has_skipped: self.has_skipped, end: self.ended }
    }
}
