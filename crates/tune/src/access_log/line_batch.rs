//! Batch of parsed lines: compact records over one text, reused without allocation.

use super::error::ReadError;
use super::line_parser::LineFields;
use super::line_parser::field_source::FieldSource;
use super::report::{MAX_UNREADABLE_LISTED, UnreadableLine, UnreadableReason};

/// Duration of a line that has none.
const NO_DURATION: u32 = u32::MAX;

/// Status of a line that has none.
const NO_STATUS: u16 = 0;

/// What comes from the thread that parses.
pub(super) type ParsedBatch = Result<LineBatch, ReadError>;

/// Parsed lines of one file, in their order, and what happened between them.
#[derive(Default, Debug)]
pub(super) struct LineBatch {
    /// Index of the input.
    pub(super) file: usize,
    /// Lines of the input read in this batch, with those that could not be read.
    pub(super) lines_read: u64,
    /// Bytes of the input read for this batch, compressed as they are.
    pub(super) bytes_read: u64,
    /// Lines that could not be read.
    pub(super) unreadable: u64,
    /// First of them.
    pub(super) unreadable_lines: Vec<UnreadableLine>,
    /// Whether the input ends with this batch.
    pub(super) is_last: bool,
    /// Number of the first line.
    first_line: u64,
    records: Vec<LineRecord>,
    /// Values of needed attributes: as many per record as attributes are needed.
    values: Vec<TextRange>,
    needed: usize,
    /// Text of the values while lines are added, and once the batch is complete.
    bytes: Vec<u8>,
    text: String,
}

/// Times, status and number of a line.
#[derive(Clone, Copy, Debug)]
struct LineRecord {
    start_ms: u64,
    duration_ms: u32,
    /// Distance to the first line of the batch.
    line: u32,
    status: u16,
}

/// Part of the text of a batch; an empty one is a missing value.
#[derive(Clone, Copy, Default, Debug)]
struct TextRange {
    start: u32,
    bytes: u32,
}

impl LineBatch {
    /// Empties the batch for the lines of a file from this number on.
    pub(super) fn restart(&mut self, file: usize, first_line: u64, needed: usize) {
        self.records.clear();
        self.values.clear();
        self.bytes = std::mem::take(&mut self.text).into_bytes();
        self.bytes.clear();
        self.unreadable_lines.clear();
        (self.lines_read, self.bytes_read, self.unreadable, self.is_last) = (0, 0, 0, false);
        (self.file, self.first_line, self.needed) = (file, first_line, needed);
    }

    /// Parsed lines.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// Number of the line after those read so far.
    pub(super) fn next_line(&self) -> u64 {
        self.first_line + self.lines_read
    }

    /// Counts a line that could not be read.
    pub(super) fn count_unreadable(&mut self, reason: UnreadableReason) {
        self.unreadable += 1;
        if self.unreadable_lines.len() < MAX_UNREADABLE_LISTED {
            let line = self.next_line();
            self.unreadable_lines.push(UnreadableLine { line, reason });
        }
    }

    /// Adds the next line.
    #[inline]
    pub(super) fn push(
        &mut self,
        fields: &LineFields<'_>,
        sources: &mut [FieldSource],
    ) -> Result<(), UnreadableReason> {
        let (bytes, values) = (self.bytes.len(), self.values.len());
        for source in sources {
            let start = self.bytes.len();
            source.append(fields, &mut self.bytes);
            // A batch is made of one block of at most two megabytes, and unescaping shortens.
            self.values.push(TextRange { start: start as u32, bytes: (self.bytes.len() - start) as u32 });
        }
        if !self.bytes[bytes..].is_ascii() && !self.are_utf8(values) {
            self.bytes.truncate(bytes);
            self.values.truncate(values);
            return Err(UnreadableReason::NotUtf8);
        }
        let duration_ms =
            fields.duration_ms.map_or(NO_DURATION, |ms| ms.min(u64::from(NO_DURATION - 1)) as u32);
        self.records.push(LineRecord {
            start_ms: fields.start_ms(),
            duration_ms,
            line: (self.next_line() - self.first_line) as u32,
            status: fields.status.unwrap_or(NO_STATUS),
        });
        Ok(())
    }

    /// Whether every value from this one on is UTF-8.
    #[cold]
    fn are_utf8(&self, values: usize) -> bool {
        let mut values = self.values[values..].iter();
        values
            .all(|range| str::from_utf8(&self.bytes[range.start as usize..][..range.bytes as usize]).is_ok())
    }

    /// Makes the values readable, after the last line.
    ///
    /// # Panics
    /// If a value is not UTF-8, which [`push`](Self::push) makes sure of.
    pub(super) fn complete(&mut self) {
        self.text = String::from_utf8(std::mem::take(&mut self.bytes)).expect("values are UTF-8");
    }

    /// Start of a line, without the share of a second that its place in the file adds.
    #[inline]
    pub(super) fn start_ms(&self, index: usize) -> u64 {
        self.records[index].start_ms
    }

    pub(super) fn duration_ms(&self, index: usize) -> Option<u64> {
        let duration_ms = self.records[index].duration_ms;
        (duration_ms != NO_DURATION).then_some(u64::from(duration_ms))
    }

    pub(super) fn status(&self, index: usize) -> Option<u16> {
        let status = self.records[index].status;
        (status != NO_STATUS).then_some(status)
    }

    pub(super) fn line(&self, index: usize) -> u64 {
        self.first_line + u64::from(self.records[index].line)
    }

    /// Value of a needed attribute. An empty one counts as absent.
    #[inline]
    pub(super) fn value(&self, index: usize, needed: usize) -> Option<&str> {
        if needed >= self.needed {
            return None;
        }
        let TextRange { start, bytes } = self.values[index * self.needed + needed];
        (bytes > 0).then(|| &self.text[start as usize..(start + bytes) as usize])
    }
}
