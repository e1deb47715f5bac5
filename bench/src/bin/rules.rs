//! Requests on four rules against requests on one: their time, and their instructions.
//!
//! `run ALGORITHM ANSWER RULES` is what callgrind counts.

use std::process::ExitCode;

use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::counted;
use slidegate_bench::report::{Must, Report, versus};
use slidegate_bench::rules::{self, CLIENTS, MOST, RuleCase, RuleGate, TIMES};

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 2] = ["time", "instructions"];

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
            "time" => rules::measure_times(&mut report, thoroughness),
            _ => count_all(&mut report),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
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
