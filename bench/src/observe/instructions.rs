//! Instructions per decision, counted by callgrind: the same on a busy machine as on an idle one.

use std::process::ExitCode;

use super::gates::{Case, GateUnderTest};
use crate::counted;
use crate::report::{Report, versus};

const CLIENTS: u32 = 100;
const TIMES: usize = 500;

/// Counts all cases.
pub fn run(report: &mut Report) {
    report.say("\ninstructions per decision; in brackets observed / not");
    report.row("", &["not observed", "observed"].map(String::from));
    for case in Case::all() {
        let [way, answer, rules] = case.words();
        let count = |who| counted::per_unit(&["run", who, way, answer, rules], TIMES * CLIENTS as usize);
        let (without, with) = (count("unseen"), count("seen"));
        let label = format!("{way}, {answer}, {rules} rules");
        report.row(&label, &[format!("{without:.1}"), versus(with, with / without)]);
    }
}

/// Part that runs inside callgrind.
pub fn inside(who: &str, words: &[&str]) -> ExitCode {
    let Some(case) = Case::all().find(|case| case.words() == *words) else { return ExitCode::from(2) };
    let gate = if who == "seen" {
        GateUnderTest::with_telemetry(case, CLIENTS)
    } else {
        GateUnderTest::plain(case, CLIENTS)
    };
    gate.round();
    assert_eq!(gate.round(), gate.expected(), "every answer has to be the one that is counted");
    measured_decisions(&gate);
    ExitCode::SUCCESS
}

#[inline(never)]
fn measured_decisions(gate: &GateUnderTest) {
    for _ in 0..TIMES {
        std::hint::black_box(gate.round());
    }
}
