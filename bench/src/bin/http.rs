//! Slidegate's check API, a bare handler and a peer's service over HTTP, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::http::{Scale, cases};
use slidegate_bench::report::Report;

fn main() -> ExitCode {
    let Arguments { format, thoroughness, parts } = match arguments::read("http", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let mut report = Report::new(format);
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
            "check" => cases::check(&mut report, scale),
            _ => cases::rules(&mut report, scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 2] = ["check", "rules"];
