//! How long a client that means well waits while others do not: alone, and under each attack, taking turns.
//!
//! The slowest hundredth is where a shared machine shows first: while the host runs somebody else, everybody here waits for up to
//! 30 ms, which is a hundred times what an answer takes. So the client's clock stands still whenever the machine does. What is left
//! of such noise comes in bursts: turns are short and many, and the waits of all turns count together.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::http::hostile::{ATTACKS, Attack, Client, Scale, Waits};
use slidegate_bench::http::policy;
use slidegate_bench::report::{Must, Report};

/// Under attack the slowest answers may take so many times as long.
const MOST: f64 = 2.0;

fn main() -> ExitCode {
    let names = ATTACKS.map(|(name, _)| name);
    let Arguments { format, thoroughness, parts } = match arguments::read("hostile", &names) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let mut report = Report::new(format);
    let server = policy::serve(POLICY);
    let mut client = Client::new(server.address());
    report.row("", &["p50", "p99", "p99 alone", "ratio"].map(String::from));
    for (name, attack) in ATTACKS.into_iter().filter(|(name, _)| parts.contains(name)) {
        eprintln!("measuring: {name}");
        let (mut alone, mut attacked) = (Waits::default(), Waits::default());
        for _ in 0..scale.rounds {
            client.ask(scale.requests, &mut alone);
            let _until_asked = Attack::begin(server.address(), attack);
            client.ask(scale.requests, &mut attacked);
        }
        let [p50, p99, p99_alone] = [attacked.us(50), attacked.us(99), alone.us(99)];
        let ratio = p99 / p99_alone;
        let us = [p50, p99, p99_alone].map(|us| format!("{us:.0} us"));
        report.row(name, &[&us[..], &[format!("{ratio:.2}x")]].concat());
        report.bar(format!("{name}: p99 of others, under attack to alone"), ratio, Must::AtMost(MOST));
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time-outs that are short enough for attackers to be cut off, and to come again, within a round.
const POLICY: &str = "version: 1
server: {connections: {head_timeout: 1s, body_timeout: 1s, write_timeout: 1s, idle_timeout: 10min}}
rules: [{name: api, key: [user], limits: [1000000/s]}]
";
