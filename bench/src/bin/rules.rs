//! Requests on four rules against requests on one: their time, and their instructions.
//!
//! `run ALGORITHM ANSWER RULES` is what callgrind counts.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments, Thoroughness};
use slidegate_bench::counted;
use slidegate_bench::report::{Must, Report, versus};
use slidegate_bench::rules::{CLIENTS, RuleCase, RuleGate};
use slidegate_bench::turn_times::TurnTimes;

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 2] = ["time", "instructions"];
/// Rounds of requests per turn.
const TIMES: usize = 10;
/// Most times that a request on four rules may cost what one on one rule does.
const MOST: f64 = 3.0;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [run, algorithm, answer, rules] = words.as_slice()
        && run == "run"
    {
        return count(algorithm, answer, rules);
    }
    let Arguments { format, thoroughness, parts } = match arguments::read("rules", &PARTS) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let mut report = Report::new(format);
    for part in parts {
        match part {
            "time" => measure_times(&mut report, thoroughness),
            _ => count_all(&mut report),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure_times(report: &mut Report, thoroughness: Thoroughness) {
    report.say("\nns per check, one thread, 1,000 clients, a subject for each rule; in brackets four / one");
    report.row("", &["one rule", "four rules"].map(String::from));
    for case in RuleCase::ALL {
        let (one, four) = (RuleGate::new(case, 1), RuleGate::new(case, 4));
        let mut one = || (0..TIMES).for_each(|_| one.round());
        let mut four = || (0..TIMES).for_each(|_| four.round());
        let rounds = thoroughness.choose(101, 21);
        let times = TurnTimes::of(rounds, TIMES * CLIENTS, &mut [&mut one, &mut four]);
        let ratio = times.median(|round| round[1] / round[0]);
        report.row(&case.label(), &[format!("{:.1}", times.ns(0)), versus(times.ns(1), ratio)]);
        report.bar(format!("a check by four rules / by one, {}", case.label()), ratio, Must::AtMost(MOST));
    }
}

fn count_all(report: &mut Report) {
    report.say("\ninstructions per check; in brackets four / one");
    report.row("", &["one rule", "four rules"].map(String::from));
    for case in RuleCase::ALL {
        let count =
            |rules: &str| counted::per_unit(&["run", case.algorithm, case.answer, rules], TIMES * CLIENTS);
        let (one, four) = (count("1"), count("4"));
        report.row(&case.label(), &[format!("{one:.1}"), versus(four, four / one)]);
        let name = format!("instructions of a check by four rules / by one, {}", case.label());
        report.bar(name, four / one, Must::AtMost(MOST));
    }
}

/// What runs under callgrind.
fn count(algorithm: &str, answer: &str, rules: &str) -> ExitCode {
    let case = RuleCase::ALL.into_iter().find(|case| case.algorithm == algorithm && case.answer == answer);
    let (Some(case), Ok(rules)) = (case, rules.parse()) else {
        eprintln!("usage: rules run counter|log allowed|denied 1|4");
        return ExitCode::from(2);
    };
    let gate = RuleGate::new(case, rules);
    gate.round();
    measured_decisions(&gate);
    ExitCode::SUCCESS
}

#[inline(never)]
fn measured_decisions(gate: &RuleGate) {
    (0..TIMES).for_each(|_| gate.round());
}
