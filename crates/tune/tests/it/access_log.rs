//! Reading access logs.

mod golden;
mod hostile;
mod inputs;
mod order;
mod servers;

use std::ops::ControlFlow;
use std::path::Path;

use slidegate_tune::access_log::{self, LogInput, NoProgress, ReadOptions, ReadReport};

/// Request as a visitor gets it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Visited {
    start_ms: u64,
    duration_ms: Option<u64>,
    status: Option<u16>,
    file: usize,
    line: u64,
    is_late: bool,
    attributes: Vec<(String, String)>,
}

fn needed(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn file(path: &Path) -> LogInput {
    LogInput::File(path.to_owned())
}

/// Reads everything.
fn read(options: &ReadOptions) -> (Vec<Visited>, ReadReport) {
    let mut visited = Vec::new();
    let report = access_log::read(options, &NoProgress, |request| {
        let attributes = request.attributes().map(|(name, value)| (name.to_owned(), value.to_owned()));
        visited.push(Visited {
            start_ms: request.start_ms,
            duration_ms: request.duration_ms,
            status: request.status,
            file: request.file,
            line: request.line,
            is_late: request.is_late,
            attributes: attributes.collect(),
        });
        ControlFlow::Continue(())
    });
    let report = report.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.requests, visited.len() as u64);
    assert!(visited.is_sorted_by_key(|request| request.start_ms));
    (visited, report)
}
