//! The whole library against the server: how it coalesces, what a check takes, and denials that
//! cost the server nothing.

use super::super::connection::Connection;
use super::super::library::{Checks, Library};
use super::super::load::{IN_FLIGHT, Load};
use super::super::server::Server;
use super::super::steady::Steady;
use super::super::sweep::Sweep;
use super::super::textbook::{self, Rate};
use super::super::turns::{Contender, Tally};
use super::super::{HOUR_MS, Scale};
use crate::ours::default_log;
use crate::report::{Must, Report};

const QUOTA: u32 = 100;
/// Checks that are denied without asking.
const DENIALS: u32 = 10_000;

/// Measures all cases.
pub fn run(report: &mut Report, server: &Server, scale: Scale) {
    checks(report, server, scale);
    commands(report, server);
    denials(report, server);
}

/// Checks one at a time and 16 at once, beside the ZSET log with 16 in flight. One connection
/// leaves the server idle in between, so that waking it up is a part of every figure; what scripts
/// take is measured by themselves.
fn checks(report: &mut Report, server: &Server, scale: Scale) {
    report.say(&format!(
        "\nthe library, log at quota {QUOTA}, full, beside a ZSET log with {IN_FLIGHT} in flight"
    ));
    let steady = Steady { quota: QUOTA.into(), load: Load::ONE_NODE, scale };
    let make = |window_ms| -> Vec<Box<dyn Contender>> {
        let zset = textbook::zset_log(server, Rate { quota: QUOTA.into(), window_ms });
        vec![
            Box::new(Sweep::new(server, zset, steady.load)),
            Box::new(library(server, "library, 16 at once", window_ms, IN_FLIGHT)),
            Box::new(library(server, "library, one at a time", window_ms, 1)),
        ]
    };
    let measured = steady.measure(report, server, &make);
    report.row("", &["p50 us", "p99 us", "server us each", "/ the first"].map(String::from));
    for (index, name) in measured.names().iter().enumerate() {
        let cells = [
            format!("{:.0}", measured.trip_us(index, 0.5)),
            format!("{:.0}", measured.trip_us(index, 0.99)),
            format!("{:.2}", measured.cpu_us(index)),
            measured.ratio(index, 0).to_string(),
        ];
        report.row(name, &cells);
    }
}

fn library(server: &Server, name: &'static str, window_ms: u64, at_once: usize) -> Library {
    let limits = [default_log(QUOTA, window_ms)];
    Library::new(server, name, &limits, Checks { subjects: Load::ONE_NODE.subjects, at_once })
}

/// Number of script calls for 16 concurrent checks.
fn commands(report: &mut Report, server: &Server) {
    let mut library = library(server, "library, 16 at once", HOUR_MS, IN_FLIGHT);
    // The first sweep connects and makes the script known.
    library.sweep(&mut Tally::default());
    let mut connection = server.connect();
    connection.run(&["CONFIG", "RESETSTAT"]);
    let mut tally = Tally::default();
    (0..20).for_each(|_| library.sweep(&mut tally));
    let calls: f64 = ["eval", "evalsha"].iter().map(|command| calls_of(&mut connection, command)).sum();
    let calls = calls / tally.decisions as f64;
    report.bar("script calls per check, 16 checks at once by the library", calls, Must::AtMost(0.07));
    server.flush();
}

/// Calls in a line such as `cmdstat_evalsha:calls=160,usec=2134,…`, which is missing if there was
/// none.
fn calls_of(connection: &mut Connection, command: &str) -> f64 {
    let Some(stats) = connection.info("commandstats", &format!("cmdstat_{command}")) else {
        return 0.0;
    };
    let calls = stats.strip_prefix("calls=").and_then(|rest| rest.split(',').next());
    calls.and_then(|calls| calls.parse().ok()).expect("calls come first")
}

/// Commands that reach the server for checks that were just denied.
fn denials(report: &mut Report, server: &Server) {
    let library =
        Library::new(server, "denied", &[default_log(1, HOUR_MS)], Checks { subjects: 1, at_once: 1 });
    let first = [library.check(0), library.check(0)];
    assert_eq!(first, [true, false], "one may pass, the next one may not");
    let mut connection = server.connect();
    let before = processed(&mut connection);
    let cpu = server.cpu();
    let denied = (0..DENIALS).filter(|_| !library.check(0)).count();
    let cpu = server.cpu() - cpu;
    assert_eq!(denied, DENIALS as usize, "nobody else may pass");
    // The first question is counted only when it has been answered.
    let commands = processed(&mut connection) - before - 1.0;
    let denials = f64::from(DENIALS);
    let label = format!("{DENIALS} checks after a denial: commands, server us");
    report.row(&label, &[format!("{commands}"), format!("{}", cpu.as_micros())]);
    report.bar("commands per cached denial", commands / denials, Must::AtMost(0.0));
    server.flush();
}

fn processed(connection: &mut Connection) -> f64 {
    let processed = connection.info("stats", "total_commands_processed");
    processed.and_then(|commands| commands.parse().ok()).expect("the server counts commands")
}
