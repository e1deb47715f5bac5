//! Layers for tower around one service in one process: ours, tower_governor and axum-governor.
//!
//! `run CONTENDER` is what callgrind counts.

use std::process::ExitCode;

use slidegate::headers::Style;
use slidegate_bench::arguments::{self, Arguments, Thoroughness};
use slidegate_bench::counted;
use slidegate_bench::layers::{self, CLIENTS, LayerAnswer, X_RATELIMIT};
use slidegate_bench::report::{Must, Report};
use slidegate_bench::turn_times::{Turn, TurnTimes};

/// The parts, any one of which can be measured by itself.
const PARTS: [&str; 2] = ["time", "instructions"];
/// The service alone, from which the others are measured.
const NONE: usize = 0;
/// Turns to warm up, and as many that callgrind counts.
const TURNS: usize = 5;
/// Ratios of what two contenders add to the service, and their bars.
const BARS: [(&str, usize, usize, f64); 4] = [
    ("X-RateLimit style / tower_governor with headers", 1, 2, 1.0),
    ("draft style / axum-governor", 3, 4, 0.8),
    ("a denial / tower_governor's", 6, 7, 0.2),
    ("in flight / plain, draft style", 5, 3, 2.0),
];

/// Name of a contender, and what makes it.
type Contender = (&'static str, fn() -> Box<dyn Turn>);

const CONTENDERS: [Contender; 9] = [
    ("no layer", || Box::new(layers::none())),
    ("slidegate, X-RateLimit", || Box::new(layers::ours(X_RATELIMIT, LayerAnswer::Allowed))),
    ("tower_governor with headers", || Box::new(layers::tower_governor(LayerAnswer::Allowed))),
    ("slidegate, draft", || Box::new(layers::ours(Style::Draft, LayerAnswer::Allowed))),
    ("axum-governor", || Box::new(layers::axum_governor(LayerAnswer::Allowed))),
    ("slidegate, in flight", || Box::new(layers::ours_in_flight())),
    ("slidegate, denied", || Box::new(layers::ours(Style::Draft, LayerAnswer::Denied))),
    ("tower_governor, denied", || Box::new(layers::tower_governor(LayerAnswer::Denied))),
    ("axum-governor, denied", || Box::new(layers::axum_governor(LayerAnswer::Denied))),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [run, name] = words.as_slice()
        && run == "run"
    {
        return count(name);
    }
    let Arguments { format, thoroughness, parts } = match arguments::read("tower", &PARTS) {
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
    let mut contenders = CONTENDERS.map(|(_, contender)| contender());
    let mut turns: Vec<&mut dyn Turn> = contenders.iter_mut().map(|turn| &mut **turn as _).collect();
    let times = TurnTimes::of(thoroughness.choose(301, 61), CLIENTS, &mut turns);
    report.say("\nns per request that a layer adds to the service alone, 1,000 clients, one thread");
    report.row("no layer, whole", &[format!("{:.1}", times.ns(NONE))]);
    for (index, (name, _)) in CONTENDERS.iter().enumerate().skip(1) {
        let added = times.median(|round| round[index] - round[NONE]);
        report.row(name, &[format!("{added:.1}")]);
    }
    for (name, ours, other, most) in BARS {
        let ratio = times.median(|round| (round[ours] - round[NONE]) / (round[other] - round[NONE]));
        report.bar(format!("tower: {name}, added to the service"), ratio, Must::AtMost(most));
    }
}

/// Instructions, which say where the time goes on a busy machine. The bars are for time.
fn count_all(report: &mut Report) {
    report.say("\ninstructions per request that a layer adds to the service alone");
    let instructions = CONTENDERS.map(|(name, _)| counted::per_unit(&["run", name], TURNS * CLIENTS));
    report.row("no layer, whole", &[format!("{:.1}", instructions[NONE])]);
    let added = instructions.map(|count| count - instructions[NONE]);
    for (index, (name, _)) in CONTENDERS.iter().enumerate().skip(1) {
        report.row(name, &[format!("{:.1}", added[index])]);
    }
    for (name, ours, other, _) in BARS {
        report.row(name, &[format!("{:.2}", added[ours] / added[other])]);
    }
}

/// What runs under callgrind.
fn count(name: &str) -> ExitCode {
    let Some((_, contender)) = CONTENDERS.iter().find(|(label, _)| *label == name) else {
        eprintln!("usage: tower run CONTENDER");
        return ExitCode::from(2);
    };
    let mut turn = contender();
    for _ in 0..TURNS {
        turn.prepare();
        turn.run();
    }
    for _ in 0..TURNS {
        turn.prepare();
        measured_decisions(&mut *turn);
    }
    ExitCode::SUCCESS
}

#[inline(never)]
fn measured_decisions(turn: &mut dyn Turn) {
    turn.run();
}
