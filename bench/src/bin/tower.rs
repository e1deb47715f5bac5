//! Layers for tower around one service in one process: ours, tower_governor and axum-governor.

use std::process::ExitCode;

use slidegate::headers::Style;
use slidegate_bench::arguments::{self, Arguments};
use slidegate_bench::layers::{self, CLIENTS, LayerAnswer, X_RATELIMIT};
use slidegate_bench::report::{Must, Report};
use slidegate_bench::turn_times::{Turn, TurnTimes};

/// The service alone, from which the others are measured.
const NONE: usize = 0;

fn main() -> ExitCode {
    let Arguments { format, thoroughness, .. } = match arguments::read("tower", &[]) {
        Ok(arguments) => arguments,
        Err(usage) => return usage,
    };
    let mut report = Report::new(format);
    let (allowed, denied) = (LayerAnswer::Allowed, LayerAnswer::Denied);
    let mut contenders: [(&str, Box<dyn Turn>); 9] = [
        ("no layer", Box::new(layers::none())),
        ("slidegate, X-RateLimit", Box::new(layers::ours(X_RATELIMIT, allowed))),
        ("tower_governor with headers", Box::new(layers::tower_governor(allowed))),
        ("slidegate, draft", Box::new(layers::ours(Style::Draft, allowed))),
        ("axum-governor", Box::new(layers::axum_governor(allowed))),
        ("slidegate, in flight", Box::new(layers::ours_in_flight())),
        ("slidegate, denied", Box::new(layers::ours(Style::Draft, denied))),
        ("tower_governor, denied", Box::new(layers::tower_governor(denied))),
        ("axum-governor, denied", Box::new(layers::axum_governor(denied))),
    ];
    let mut turns: Vec<&mut dyn Turn> = contenders.iter_mut().map(|(_, turn)| &mut **turn as _).collect();
    let times = TurnTimes::of(thoroughness.choose(301, 61), CLIENTS, &mut turns);
    report.say("\nns per request that a layer adds to the service alone, 1,000 clients, one thread");
    report.row("no layer, whole", &[format!("{:.1}", times.ns(NONE))]);
    for (index, (name, _)) in contenders.iter().enumerate().skip(1) {
        let added = times.median(|round| round[index] - round[NONE]);
        report.row(name, &[format!("{added:.1}")]);
    }
    let bars = [
        ("X-RateLimit style / tower_governor with headers", 1, 2, 1.0),
        ("draft style / axum-governor", 3, 4, 0.8),
        ("a denial / tower_governor's", 6, 7, 0.2),
        ("in flight / plain, draft style", 5, 3, 2.0),
    ];
    for (name, ours, other, most) in bars {
        let ratio = times.median(|round| (round[ours] - round[NONE]) / (round[other] - round[NONE]));
        report.bar(format!("tower: {name}, added to the service"), ratio, Must::AtMost(most));
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
