//! Errors that end a run before, or instead of, a report.

use std::io;

use super::MAX_REORDER_MS;
use super::report::{UnreadableLine, UnreadableReason};

/// Reason for which logs cannot be read at all. Lines that cannot be read are none: they are counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be opened or read.
    #[error("cannot read {input}: {source}")]
    Io {
        /// Name of the input.
        input: String,
        /// Error of the system.
        source: io::Error,
    },
    /// None of the first lines is of a known format.
    #[error(
        "unknown format of {input}: its first line is `{line}`; name the format with --format, or let the server log as `slidegate replay --formats` shows"
    )]
    UnknownFormat {
        /// Name of the input.
        input: String,
        /// Its first line, cut.
        line: String,
    },
    /// A file of which no line can be read.
    #[error("no line of {input} can be read{format}: {first}; {}", remedy(.first.reason))]
    NothingReadable {
        /// Name of the input.
        input: String,
        /// ` as` the format, if it has one.
        format: String,
        /// First line.
        first: UnreadableLine,
    },
    /// A CSV file or JSON lines without a field for the time.
    #[error(
        "no time in {input}: none of its fields is one of {names}; name the field with --attribute time=FIELD"
    )]
    NoTime {
        /// Name of the input.
        input: String,
        /// Fields that would be read as the time.
        names: String,
    },
    /// A mapping of an attribute that is not `NAME=FIELD`.
    #[error("invalid attribute `{text}`: must be NAME=FIELD, such as api_key=request.headers.X-Api-Key")]
    InvalidAttribute {
        /// What was given.
        text: String,
    },
    /// A time zone that is neither in the system's database nor an offset.
    #[error(
        "unknown time zone `{name}`: must be an offset such as +02:00, or a name that the system knows, such as Europe/Berlin"
    )]
    UnknownTimeZone {
        /// What was given.
        name: String,
    },
    /// A longer wait for late lines than the maximum.
    #[error("reorder time too long: {ms} ms, the maximum is {MAX_REORDER_MS} ms")]
    ReorderTooLong {
        /// What was given.
        ms: u128,
    },
    /// Standard input among the inputs more than once.
    #[error("standard input can be read only once")]
    StdinTwice,
    /// Nothing to read.
    #[error("no log to read: name a file, or - for standard input")]
    NoInput,
}

/// What to do about a file of which no line can be read for this reason.
fn remedy(reason: UnreadableReason) -> &'static str {
    match reason {
        UnreadableReason::Torn => "copy the file again",
        _ => "name the format with --format, or let the server log as `slidegate replay --formats` shows",
    }
}
