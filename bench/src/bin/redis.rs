//! Slidegate's scripts and those of the textbooks against one Redis server, taking turns.

use std::process::ExitCode;

use slidegate_bench::redis::Scale;
use slidegate_bench::redis::cases::{bytes, cpu, growth, library, speed};
use slidegate_bench::redis::server::Server;
use slidegate_bench::report::{Format, Report};

fn main() -> ExitCode {
    let (mut format, mut scale, mut only) = (Format::Text, Scale::FULL, None);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--json" => format = Format::Json,
            "--quick" => scale = Scale::QUICK,
            name if NAMES.contains(&name) => only = Some(argument),
            _ => {
                eprintln!("usage: redis [--json] [--quick] [{}]", NAMES.join(" | "));
                return ExitCode::from(2);
            }
        }
    }
    let mut report = Report::new(format);
    let server = Server::start();
    report.say(&format!("Redis {}", server.version()));
    for name in NAMES.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        eprintln!("measuring: {name}");
        match name {
            "cpu" => cpu::run(&mut report, &server, scale),
            "library" => library::run(&mut report, &server, scale),
            "speed" => speed::run(&report, &server, scale),
            "growth" => growth::run(&mut report, &server, scale),
            _ => bytes::run(&mut report, &server, scale),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The parts, any one of which can be measured by itself.
const NAMES: [&str; 5] = ["cpu", "library", "speed", "growth", "bytes"];
