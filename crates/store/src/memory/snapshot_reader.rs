//! Reader of a snapshot's words: a file is never in memory as a whole.

use std::io::{self, ErrorKind, Read};

/// Reads 64-bit little-endian words.
pub(super) struct SnapshotReader<R> {
    input: R,
    /// Number of words left, by the length of the file.
    left: u64,
}

impl<R: Read> SnapshotReader<R> {
    pub(super) fn new(input: R, left: u64) -> Self {
        Self { input, left }
    }

    /// Next word.
    pub(super) fn take(&mut self) -> io::Result<u64> {
        self.left = self.left.checked_sub(1).ok_or_else(damaged)?;
        let mut word = [0; 8];
        self.input.read_exact(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    pub(super) fn take_array<const N: usize>(&mut self) -> io::Result<[u64; N]> {
        let mut words = [0; N];
        for word in &mut words {
            *word = self.take()?;
        }
        Ok(words)
    }

    /// Reads `count` groups of words; allocates no more than the file contains.
    pub(super) fn take_groups<const N: usize>(&mut self, count: u64) -> io::Result<Vec<[u64; N]>> {
        if count > self.left / N as u64 {
            return Err(damaged());
        }
        (0..count).map(|_| self.take_array()).collect()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.left == 0
    }
}

/// Error of a damaged file.
pub(super) fn damaged() -> io::Error {
    ErrorKind::InvalidData.into()
}
