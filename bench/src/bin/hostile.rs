//! Waits of a well-behaved client: beside as many others at the same rate, and under each attack,
//! on every listener, in turns.
//!
//! The slowest hundredth is where a shared machine shows first: while the host runs somebody else,
//! everybody here waits for up to 30 ms, which is a hundred times what an answer takes. So the
//! client's clock stands still whenever the machine does. What is left of such noise comes in
//! bursts: turns are short and many, and the waits of all turns count together.

use std::net::SocketAddr;
use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::hostile::{
    Client, Crowd, PROTOCOLS, Plan, Protocol, Scale, Trial, Waits, serve, trials,
};
use slidegate_bench::report::{Must, Report};

/// Factor by which the slowest answers may take longer under attack.
const MOST: f64 = 2.0;

fn main() -> ExitCode {
    let names = PROTOCOLS.map(|protocol| protocol.name);
    let Arguments { format, thoroughness, parts } = match arguments::read("hostile", &names) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let scale = thoroughness.choose(Scale::FULL, Scale::QUICK);
    let mut report = Report::new(format);
    let (_server, addresses) = serve();
    report.row("", &["p50", "p99", "p99 in company", "ratio"].map(String::from));
    let chosen = PROTOCOLS.into_iter().zip(addresses).filter(|(protocol, _)| parts.contains(&protocol.name));
    for (protocol, address) in chosen {
        let mut client = Client::new(address, protocol);
        for trial in trials(&protocol) {
            measure(&mut report, &mut client, protocol, address, &trial, scale);
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(
    report: &mut Report,
    client: &mut Client,
    protocol: Protocol,
    address: SocketAddr,
    trial: &Trial,
    scale: Scale,
) {
    let name = format!("{}, {}", protocol.name, trial.name);
    eprintln!("measuring: {name}");
    let (mut in_company, mut attacked) = (Waits::default(), Waits::default());
    let begin = |plan: &Plan| Crowd::begin(address, protocol, plan.clone());
    for _ in 0..scale.rounds {
        let company = trial.company.as_ref().map(begin);
        client.ask(scale.requests, &mut in_company);
        drop(company);
        let _attack = begin(&trial.attack);
        client.ask(scale.requests, &mut attacked);
    }
    let [p50, p99, p99_in_company] = [attacked.us(50), attacked.us(99), in_company.us(99)];
    let ratio = p99 / p99_in_company;
    let us = [p50, p99, p99_in_company].map(|us| format!("{us:.0} us"));
    report.row(&name, &[&us[..], &[format!("{ratio:.2}x")]].concat());
    report.bar(format!("{name}: p99 of others, under attack to in company"), ratio, Must::AtMost(MOST));
}
