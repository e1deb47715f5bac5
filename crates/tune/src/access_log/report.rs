//! What was read: counts by file, lines that could not be read, lines that came late.

use std::fmt;

use super::MAX_LINE_BYTES;
use super::error::ReadError;
use super::format::{Directive, FileFacts};
use crate::numbers::count;

/// First unreadable lines of a file that a report has with their reason.
pub(super) const MAX_UNREADABLE_LISTED: usize = 5;

/// Observer of the progress of a run.
pub trait ReadProgress {
    /// Bytes of the inputs that were read, compressed as they are, and all bytes where that is known.
    fn bytes(&self, read: u64, total: Option<u64>);
}

/// Progress that nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl ReadProgress for NoProgress {
    fn bytes(&self, _: u64, _: Option<u64>) {}
}

/// What was read.
#[derive(Clone, Default, Debug)]
pub struct ReadReport {
    /// What was read of every input, in the order of the inputs.
    pub files: Vec<FileReport>,
    /// Requests that were visited.
    pub requests: u64,
    /// Requests with status 429: they had been limited before.
    pub limited: u64,
    /// Lines that came later than the reorder time.
    pub late: LateLines,
    /// Earliest start.
    pub first_ms: Option<u64>,
    /// Latest start.
    pub last_ms: Option<u64>,
}

impl ReadReport {
    /// Lines of all files.
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.lines).sum()
    }

    /// Lines of all files that could not be read.
    pub fn unreadable(&self) -> u64 {
        self.files.iter().map(|file| file.unreadable).sum()
    }

    /// Configurations of the servers whose logs have whole seconds, each once.
    pub fn directives(&self) -> Vec<&'static Directive> {
        let mut directives: Vec<&Directive> = Vec::new();
        let facts = self.files.iter().filter_map(|file| file.facts.as_ref());
        for directive in facts.filter_map(|facts| facts.format.directive()) {
            if !directives.contains(&directive) {
                directives.push(directive);
            }
        }
        directives
    }

    /// Checks that a line could be read, if there are any: a result of nothing would mislead.
    pub fn check_readable(&self) -> Result<(), ReadError> {
        let is_readable = |file: &FileReport| file.lines > file.unreadable;
        match self.files.iter().find_map(FileReport::unread) {
            Some(error) if !self.files.iter().any(is_readable) => Err(error),
            _ => Ok(()),
        }
    }
}

/// Lines that came later than the reorder time, and were given the time reached.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LateLines {
    /// Number.
    pub count: u64,
    /// Largest difference between a start and the time that the line was given.
    pub most_ms: u64,
}

/// What was read of one input.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// Name of the input.
    pub name: String,
    /// Format, and what its stamps mean. `None` of a file without a whole line.
    pub facts: Option<FileFacts>,
    /// Lines, with those that could not be read.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// First of them.
    pub unreadable_lines: Vec<UnreadableLine>,
    /// Bytes read, compressed as they are.
    pub bytes: u64,
}

impl FileReport {
    /// Why nothing of the file could be read, if it has lines and none could.
    pub fn unread(&self) -> Option<ReadError> {
        let first = self.unreadable_lines.first().filter(|_| self.lines == self.unreadable)?;
        let format = self.facts.as_ref().map_or_else(String::new, |facts| format!(" as {}", facts.format));
        Some(ReadError::NothingReadable { input: self.name.clone(), format, first: *first })
    }
}

/// Line that could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnreadableLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// Reason.
    pub reason: UnreadableReason,
}

impl fmt::Display for UnreadableLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} {}", count(self.line), self.reason)
    }
}

/// Why a line could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnreadableReason {
    /// Not a line of the file's format.
    OtherFormat,
    /// No time stamp, or one that is not a time.
    NoTime,
    /// No duration where the format has one.
    NoDuration,
    /// No request line, as when a client sent something else than HTTP.
    NoRequestLine,
    /// A field that is needed is not UTF-8.
    NotUtf8,
    /// Not JSON.
    NotJson,
    /// Another number of columns than the header.
    OtherColumns,
    /// Longer than [`MAX_LINE_BYTES`].
    TooLong,
    /// Compressed data that ends early or is damaged. The rest of the file is lost.
    Torn,
}

impl fmt::Display for UnreadableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherFormat => f.write_str("not in the format of the file"),
            Self::NoTime => f.write_str("no time stamp"),
            Self::NoDuration => f.write_str("no duration"),
            Self::NoRequestLine => f.write_str("no request line"),
            Self::NotUtf8 => f.write_str("not UTF-8"),
            Self::NotJson => f.write_str("not JSON"),
            Self::OtherColumns => f.write_str("another number of columns than the header"),
            Self::TooLong => write!(f, "longer than {MAX_LINE_BYTES} bytes"),
            Self::Torn => f.write_str("the compressed data is damaged or ends here; the rest is lost"),
        }
    }
}
