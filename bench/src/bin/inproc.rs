//! Slidegate and its peers in one process, taking turns.

use std::process::ExitCode;

use slidegate_bench::cases::{Scale, bytes, growth, logs, matrix, two_limits};
use slidegate_bench::memory::Counting;
use slidegate_bench::report::{Format, Report};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let (mut format, mut scale, mut only) = (Format::Text, Scale::FULL, None);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => format = Format::Json,
            "--quick" => scale = Scale::QUICK,
            name if NAMES.contains(&name) => only = Some(argument),
            _ => {
                eprintln!("usage: inproc [--json] [--quick] [{}]", NAMES.join(" | "));
                return ExitCode::from(2);
            }
        }
    }
    let mut report = Report::new(format);
    for name in NAMES.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        eprintln!("measuring: {name}");
        match name {
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
const NAMES: [&str; 5] = ["matrix", "logs", "two-limits", "growth", "bytes"];
