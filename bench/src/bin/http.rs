//! Slidegate's check API, a bare handler and a peer's service over HTTP, taking turns.

use std::process::ExitCode;

use slidegate_bench::http::{Scale, cases};
use slidegate_bench::report::{Format, Report};

fn main() -> ExitCode {
    let (mut format, mut scale, mut only) = (Format::Text, Scale::FULL, None);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => format = Format::Json,
            "--quick" => scale = Scale::QUICK,
            name if NAMES.contains(&name) => only = Some(argument),
            _ => {
                eprintln!("usage: http [--json] [--quick] [{}]", NAMES.join(" | "));
                return ExitCode::from(2);
            }
        }
    }
    let mut report = Report::new(format);
    for name in NAMES.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        eprintln!("measuring: {name}");
        match name {
            "check" => cases::check(&mut report, scale),
            _ => cases::rules(&mut report, scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The parts, any one of which can be measured by itself.
const NAMES: [&str; 2] = ["check", "rules"];
