//! Slidegate and its peers in one process, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::cases::{Scale, bytes, growth, logs, matrix, two_limits};
use slidegate_bench::memory::Counting;
use slidegate_bench::report::Report;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let Arguments { format, thoroughness, parts } = match arguments::read("inproc", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let mut report = Report::new(format);
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
            "matrix" => matrix::run(&mut report, scale),
            "logs" => logs::run(&mut report, scale),
            "two-limits" => two_limits::run(&mut report, scale),
            "growth" => growth::run(&mut report, scale),
            _ => bytes::run(&mut report),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 5] = ["matrix", "logs", "two-limits", "growth", "bytes"];
