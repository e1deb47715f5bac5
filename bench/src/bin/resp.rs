//! Slidegate, Redis and a peer's service over the protocol of Redis, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::report::Report;
use slidegate_bench::resp::{FULL, QUICK, cases};

fn main() -> ExitCode {
    let Arguments { format, thoroughness, parts } = match arguments::read("resp", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(FULL, QUICK);
    let mut report = Report::new(format);
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
            "pipelined" => cases::pipelined(&mut report, scale),
            _ => cases::single(&mut report, scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 2] = ["pipelined", "single"];
