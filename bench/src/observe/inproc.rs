//! Time per decision in one process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use super::gates::{Answer, Case, GateUnderTest};
use crate::middle::median;
use crate::report::{Must, Report, versus};

/// Scale of a benchmark.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Rounds, in each of which both have a turn.
    pub rounds: usize,
    /// Number of checks of each client per turn.
    pub times: usize,
}

impl Scale {
    /// Everything.
    pub const FULL: Self = Self { rounds: 101, times: 40 };
    /// Fewer rounds.
    pub const QUICK: Self = Self { rounds: 21, times: 20 };
}

/// Number of clients that fits the top lists.
const CLIENTS: u32 = 500;
/// Number of clients at which hardly any denied one is in a top list yet.
const CROWD: u32 = 50_000;

/// Measures all cases.
pub fn run(report: &mut Report, scale: Scale) {
    report.say("\none thread, 500 clients, ns per decision; in brackets observed / not");
    report.row("", &["not observed", "observed"].map(String::from));
    for case in Case::all() {
        let label = label(case);
        let ratio = compare(
            report,
            &label,
            &[GateUnderTest::plain(case, CLIENTS), GateUnderTest::with_telemetry(case, CLIENTS)],
            scale,
        );
        report.bar(format!("observe: time per decision / not observed, {label}"), ratio, Must::AtMost(1.10));
    }
    report.say("\nthe same for 50,000 clients that come in turn: nobody who is refused is in a list yet");
    for case in Case::all().filter(|case| case.answer == Answer::Denied) {
        let gates = [GateUnderTest::plain(case, CROWD), GateUnderTest::with_telemetry(case, CROWD)];
        compare(report, &label(case), &gates, Scale { rounds: scale.rounds / 10, times: 1 });
    }
}

fn label(case: Case) -> String {
    let [way, answer, rules] = case.words();
    format!("{way}, {answer}, {rules} rules")
}

/// The gates take turns; how much longer the second takes.
fn compare(report: &Report, label: &str, gates: &[GateUnderTest; 2], scale: Scale) -> f64 {
    // What was asked for once is refused from then on.
    for gate in gates {
        gate.round();
    }
    let mut ns = [Vec::new(), Vec::new()];
    for round in 0..scale.rounds {
        for turn in 0..2 {
            // Neither always comes after the other.
            let index = (round + turn) % 2;
            ns[index].push(turn_ns(&gates[index], scale.times));
        }
    }
    let ratio = median(ns[1].iter().zip(&ns[0]).map(|(with, without)| with / without).collect());
    let [without, with] = ns.map(median);
    report.row(label, &[format!("{without:.1}"), versus(with, ratio)]);
    ratio
}

fn turn_ns(gate: &GateUnderTest, times: usize) -> f64 {
    gate.round();
    let start = thread_time();
    for _ in 0..times {
        assert_eq!(gate.round(), gate.expected(), "every answer has to be the one that is measured");
    }
    (thread_time() - start).as_nanos() as f64 / (times * gate.clients()) as f64
}

/// CPU time of this thread, so that other work of the machine counts less.
fn thread_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("no thread has run for a negative time")
}
