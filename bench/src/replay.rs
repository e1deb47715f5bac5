//! Access logs: what it costs to read and to replay them, beside splitting their lines and beside
//! GoAccess.

pub mod deciding;
pub mod generated_log;
pub mod goaccess;
pub mod memory_growth;
pub mod parsing;

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use slidegate_tune::access_log::{self, LogInput, NoProgress, ReadOptions};

/// Policies that are replayed, with their names.
pub const POLICIES: [(&str, &str); 2] = [
    ("one rule", "version: 1\nrules: [{ name: all, key: [ip], limits: [10/s] }]"),
    (
        "four rules",
        "version: 1\nrules:
  - { name: all, key: [ip], limits: [10/s] }
  - { name: minute, key: [ip], limits: [100/min] }
  - { name: path, key: [ip, path], limits: [5/s] }
  - { name: search, match: { path: \"/v1/{*rest}\" }, key: [ip], limits: [{ quota: 600, window: 1min, algorithm: counter }] }",
    ),
];

/// Sizes and turns.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Lines of the log.
    pub lines: usize,
    /// Turns of every contender.
    pub rounds: usize,
}

impl Scale {
    /// As long as the figures need: a log of about 200 MB.
    pub const FULL: Self = Self { lines: 1_000_000, rounds: 11 };
    /// A short version.
    pub const QUICK: Self = Self { lines: 200_000, rounds: 5 };
}

/// CPU time of all threads of this process.
pub fn cpu() -> Duration {
    clock_gettime(ClockId::ProcessCPUTime).try_into().expect("no process has run for a negative time")
}

/// Reads a log as `replay` does for rules by method, path and address. Returns its requests.
///
/// # Panics
/// If a line cannot be read: then the figure would mean something else.
pub fn read(path: &Path) -> u64 {
    let options = ReadOptions {
        inputs: vec![LogInput::File(path.to_owned())],
        needed: ["method", "path", "ip"].map(str::to_owned).into(),
        ..ReadOptions::default()
    };
    let mut bytes = 0;
    let report = access_log::read(&options, &NoProgress, |request| {
        bytes += request.needed(1).map_or(0, str::len);
        ControlFlow::Continue(())
    });
    let report = report.expect("a log that can be read");
    assert_eq!(report.unreadable(), 0);
    assert!(bytes > 0);
    report.requests
}
