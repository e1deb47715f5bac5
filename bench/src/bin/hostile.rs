//! How long a client that means well waits while others do not: alone, and under each attack, taking turns.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::http::hostile::{ATTACKS, Attack, Client, Scale, Waits};
use slidegate_bench::http::policy;
use slidegate_bench::middle::median;
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
        let (mut waits, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..scale.rounds {
            let alone = client.measure(scale.requests);
            let attacked = {
                let _until_measured = Attack::begin(server.address(), attack);
                client.measure(scale.requests)
            };
            ratios.push(attacked.p99_us / alone.p99_us);
            waits.push((attacked, alone));
        }
        let of = |what: fn(&(Waits, Waits)) -> f64| median(waits.iter().map(what).collect());
        let us = |us: f64| format!("{us:.0} us");
        let cells = [us(of(|(attacked, _)| attacked.p50_us)), us(of(|(attacked, _)| attacked.p99_us))];
        let ratio = median(ratios);
        let [p50, p99] = cells;
        report.row(name, &[p50, p99, us(of(|(_, alone)| alone.p99_us)), format!("{ratio:.2}x")]);
        report.bar(format!("{name}: p99 of others, under attack to alone"), ratio, Must::AtMost(MOST));
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Time-outs that are short enough for attackers to be cut off, and to come again, within a round.
const POLICY: &str = "version: 1
server: {connections: {head_timeout: 1s, body_timeout: 1s, write_timeout: 1s, idle_timeout: 10s}}
rules: [{name: api, key: [user], limits: [1000000/s]}]
";
