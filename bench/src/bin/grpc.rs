//! Slidegate as Envoy's rate limit service and a bare service of tonic, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::grpc::cases;
use slidegate_bench::http::Scale;
use slidegate_bench::report::Report;

fn main() -> ExitCode {
    let Arguments { format, thoroughness, .. } = match arguments::read("grpc", &["call"]) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let mut report = Report::new(format);
    eprintln!("measuring: call");
    cases::call(&mut report, thoroughness.choose(Scale::FULL, Scale::QUICK));
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
