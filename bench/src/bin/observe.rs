//! Cost of telemetry: in one process, by instructions, and in the service.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::observe::{inproc, instructions, served};
use slidegate_bench::report::Report;

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 4] = ["inproc", "instructions", "http", "resp"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let ["run", who, case @ ..] = words.as_slice() {
        return instructions::inside(who, case);
    }
    let Arguments { format, thoroughness, parts } = match arguments::read("observe", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(served::FULL, served::QUICK);
    let mut report = Report::new(format);
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
            "inproc" => {
                inproc::run(&mut report, thoroughness.choose(inproc::Scale::FULL, inproc::Scale::QUICK));
            }
            "instructions" => instructions::run(&mut report),
            "http" => served::http(&mut report, scale),
            _ => served::resp(&mut report, scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
