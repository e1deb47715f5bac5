//! Access logs: requests in the order in which they started.
//!
//! [`AccessLogs::open`] detects the format of every file; [`AccessLogs::read`] calls a visitor for
//! every request. Reading is lenient: a line that cannot be read is counted, with its reason, and
//! never ends a run.
//!
//! A log says less than one would think. nginx stamps the *end* of a request, Apache its *start*,
//! many formats write whole seconds, and lines are written when requests end, not when they start.
//! [`FileFacts`] says what a file's stamps mean; the rules below make starts of them.
//!
//! - A request's time is its start: the end minus the duration where both are known.
//! - Of the `n` lines of a file's second, the `i`-th gets `1000·i/n` ms, if stamps are whole
//!   seconds: the order of lines carries the time.
//! - Lines wait until the log has moved on by [`ReadOptions::reorder`], and leave ordered by start,
//!   file and line. A line that comes later still gets the time reached, and is counted.
//! - The address is the one that a server with [`ReadOptions::trusted_proxies`] would use.
//!
//! # Layout
//!
//! One thread parses, the caller's thread orders and visits:
//!
//! | module | contains |
//! |---|---|
//! | `options`, `format`, `report`, `error` | what callers pass and get |
//! | `opener`, `detection` | opening files, their format |
//! | `input`, `line_reader` | decompression, lines |
//! | `line_parser` | a line to its fields, a module per family of formats |
//! | `timestamp`, `address` | stamps with a cache, the client's address |
//! | `line_batch` | parsed lines on their way from one thread to the other |
//! | `parsing` | the thread that parses |
//! | `merge`, `reorder` | files merged by time, the window in which lines are put in order |
//! | `second_counts` | lines of each second, over which they are spread |

mod address;
mod detection;
mod error;
mod format;
mod input;
mod line_batch;
mod line_parser;
mod line_reader;
mod logged_request;
mod merge;
mod opener;
mod options;
mod parsing;
mod reorder;
mod report;
mod second_counts;
mod timestamp;

use std::ops::ControlFlow;

pub use error::ReadError;
pub use format::{
    AccessLogFormat, CombinedServer, Directive, FileFacts, TimeMeaning, TimeUnit, UnknownFormat,
};
pub use jiff::tz::TimeZone;
pub use logged_request::LoggedRequest;
pub use opener::AccessLogs;
pub use options::{AttributeField, LogInput, ReadOptions};
pub use report::{
    FileReport, LateLines, NoProgress, ReadProgress, ReadReport, UnreadableLine, UnreadableReason,
};

/// Longest line that is read.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Longest time that lines may wait to be put in order.
pub const MAX_REORDER_MS: u64 = 3_600_000;

/// Calls `visit` for every request of the logs in order. It may stop early.
pub fn read(
    options: &ReadOptions,
    progress: &dyn ReadProgress,
    visit: impl FnMut(&LoggedRequest<'_>) -> ControlFlow<()>,
) -> Result<ReadReport, ReadError> {
    AccessLogs::open(options)?.read(progress, visit)
}

/// Parses a time zone: a name such as `Europe/Berlin`, or an offset such as `+02:00`.
pub fn parse_time_zone(text: &str) -> Result<TimeZone, ReadError> {
    timestamp::parse_zone(text).ok_or_else(|| ReadError::UnknownTimeZone { name: text.to_owned() })
}
