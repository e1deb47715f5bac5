//! Access logs: what it costs to read and to replay them.

use std::path::Path;
use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::replay::{Scale, deciding, generated_log, goaccess, memory_growth, parsing};
use slidegate_bench::report::Report;
use slidegate_bench::rules;

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 5] = ["parsing", "deciding", "goaccess", "rules", "memory"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [word, log] = words.as_slice()
        && word == "peak"
    {
        memory_growth::print_peak(Path::new(log));
        return ExitCode::SUCCESS;
    }
    let Arguments { format, thoroughness, parts } = match arguments::read("replay", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let folder = tempfile::tempdir().expect("a folder for logs");
    let log = folder.path().join("access.log");
    generated_log::write(&log, scale.lines).expect("room for a log");
    let mut report = Report::new(format);
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
            "parsing" => parsing::run(&mut report, &log, scale),
            "deciding" => deciding::run(&mut report, &log, scale),
            "goaccess" => goaccess::run(&mut report, &log, scale),
            "rules" => rules::measure_times(&mut report, thoroughness),
            _ => memory_growth::run(&mut report, folder.path(), scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
