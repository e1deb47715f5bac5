//! Slidegate's scripts and those of the textbooks against one Redis server, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::redis::Scale;
use slidegate_bench::redis::cases::{bytes, cpu, growth, library, speed};
use slidegate_bench::redis::server::Server;
use slidegate_bench::report::Report;

fn main() -> ExitCode {
    let Arguments { format, thoroughness, parts } = match arguments::read("redis", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let mut report = Report::new(format);
    let server = Server::start();
    report.say(&format!("Redis {}", server.version()));
    for part in parts {
        eprintln!("measuring: {part}");
        match part {
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
const PARTS: [&str; 5] = ["cpu", "library", "speed", "growth", "bytes"];
