//! Summary of the logs of a replay, for the report.

use serde::Serialize;

use super::report::Precision;
use crate::access_log::{Directive, FileFacts, ReadReport, TimeUnit};

/// What was read of the logs of a replay.
#[derive(Clone, Default, Serialize, Debug)]
pub struct LogSummary {
    /// Files, in the order of the command line.
    pub files: Vec<LogFile>,
    /// Lines of all files.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Lines that came later than the reorder time, and were decided at the time reached.
    pub late: u64,
    /// Largest difference between a start and the time that the line was given.
    pub latest_ms: u64,
    /// Requests that had been limited before (status 429).
    pub limited: u64,
    /// Earliest start, in Unix milliseconds.
    pub first_ms: Option<u64>,
    /// Latest start, in Unix milliseconds.
    pub last_ms: Option<u64>,
    /// Configurations of the servers whose logs have whole seconds.
    #[serde(skip)]
    pub directives: Vec<&'static Directive>,
}

/// File of a replay.
#[derive(Clone, Serialize, Debug)]
pub struct LogFile {
    /// Name.
    pub name: String,
    /// Format and meaning of its times, in words; `None` of a file without a whole line.
    pub read_as: Option<String>,
    /// Whether nginx was assumed of lines that Apache writes alike.
    pub is_server_assumed: bool,
    /// Lines.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// First unreadable lines.
    pub unreadable_lines: Vec<UnreadLine>,
}

/// Line that could not be read.
#[derive(Clone, Serialize, Debug)]
pub struct UnreadLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// Reason.
    pub reason: String,
}

impl From<&ReadReport> for LogSummary {
    fn from(read: &ReadReport) -> Self {
        let files = read.files.iter().map(|file| LogFile {
            name: file.name.clone(),
            read_as: file.facts.as_ref().map(ToString::to_string),
            is_server_assumed: file.facts.as_ref().is_some_and(|facts| facts.is_server_assumed),
            lines: file.lines,
            unreadable: file.unreadable,
            unreadable_lines: file
                .unreadable_lines
                .iter()
                .map(|line| UnreadLine { line: line.line, reason: line.reason.to_string() })
                .collect(),
        });
        Self {
            files: files.collect(),
            lines: read.lines(),
            unreadable: read.unreadable(),
            late: read.late.count,
            latest_ms: read.late.most_ms,
            limited: read.limited,
            first_ms: read.first_ms,
            last_ms: read.last_ms,
            directives: read.directives(),
        }
    }
}

impl Precision {
    /// Precision of numbers that come from files with these facts.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a FileFacts>) -> Self {
        let (mut has_seconds, mut has_ends) = (false, false);
        for facts in files {
            has_seconds |= facts.time_unit == TimeUnit::Second;
            has_ends |= !facts.has_start();
        }
        match (has_seconds, has_ends) {
            (false, false) => Self::Exact,
            (false, true) => Self::Ends,
            (true, false) => Self::WholeSeconds,
            (true, true) => Self::WholeSecondEnds,
        }
    }
}
