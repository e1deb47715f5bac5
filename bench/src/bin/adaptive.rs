//! Adaptive limits in front of simulated services: the figures of docs/adaptive.md.

use std::ops::Range;
use std::process::ExitCode;

use slidegate_bench::adaptive::Contender;
use slidegate_bench::adaptive::scenarios::{GRADIENT, HALVED, PARTITIONS, SLOWER, Scenario};
use slidegate_bench::adaptive::summary::{self, ScenarioSummary, StepSummary};
use slidegate_bench::report::{Format, Must, Report};

const USAGE: &str = "usage: adaptive [--json] [--quick] [--seeds FIRST..END] [gradient | peers | partitions]";

/// Seeds of the documented figures. No constant of an algorithm was chosen on them.
const SEEDS: Range<u64> = 9_000_000..9_000_100;
const QUICK_SEEDS: Range<u64> = 9_000_000..9_000_005;

/// Parts of the report.
const PARTS: [&str; 3] = ["gradient", "peers", "partitions"];

/// Limiters beside each other.
const PEERS: [Contender; 6] = [
    Contender::Gradient,
    Contender::Aimd(11),
    Contender::Aimd(12),
    Contender::Gradient2(1.5),
    Contender::Gradient2(1.07),
    Contender::Vegas,
];

struct Options {
    format: Format,
    seeds: Range<u64>,
    part: Option<String>,
}

fn main() -> ExitCode {
    let Some(Options { format, seeds, part }) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut report = Report::new(format);
    report.say(&format!("seeds {} to {}", seeds.start, seeds.end - 1));
    for name in PARTS.iter().filter(|name| part.as_deref().is_none_or(|part| part == **name)) {
        match *name {
            "gradient" => gradient(&mut report, &seeds),
            "peers" => peers(&report, &seeds),
            _ => partitions(&mut report, &seeds),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn options() -> Option<Options> {
    let mut options = Options { format: Format::Text, seeds: SEEDS, part: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.format = Format::Json,
            "--quick" => options.seeds = QUICK_SEEDS,
            "--seeds" => {
                let range = arguments.next()?;
                let (first, end) = range.split_once("..")?;
                options.seeds = first.parse().ok()?..end.parse().ok()?;
            }
            name if PARTS.contains(&name) => options.part = Some(argument),
            _ => return None,
        }
    }
    (!options.seeds.is_empty()).then_some(options)
}

/// The gradient in all scenarios.
fn gradient(report: &mut Report, seeds: &Range<u64>) {
    for scenario in GRADIENT {
        heading(report, scenario.name);
        let summary = Contender::Gradient.summarize(scenario, seeds.clone());
        for (index, step) in &summary.steps {
            row(report, scenario, *index, step);
        }
        settling_bars(report, scenario, &summary);
        let throughput = summary.steps.iter().map(|(_, step)| step.throughput.median).fold(1.0, f64::min);
        report.bar(format!("{}: median throughput", scenario.name), throughput, Must::AtLeast(0.9));
    }
}

/// Bars of the steps, over all runs, and of the runs.
fn settling_bars(report: &mut Report, scenario: &Scenario, summary: &ScenarioSummary) {
    let name = scenario.name;
    report.bar(format!("{name}: settled"), summary.settled_share(), Must::AtLeast(scenario.must_settle));
    let must = Must::AtLeast(scenario.must_settle_runs);
    report.bar(format!("{name}: settled in every step of a run"), summary.settled_runs_share(), must);
}

/// All limiters in the same two scenarios.
fn peers(report: &Report, seeds: &Range<u64>) {
    for scenario in [HALVED, SLOWER] {
        for contender in PEERS {
            heading(report, &format!("{}: {}", scenario.name, contender.name()));
            for (index, step) in &contender.summarize(&scenario, seeds.clone()).steps {
                row(report, &scenario, *index, step);
            }
        }
    }
}

/// Guaranteed shares under a flood.
fn partitions(report: &mut Report, seeds: &Range<u64>) {
    heading(report, "partitions: live 60 %, batch 30 %, both within a flood");
    let summary = Contender::Gradient.summarize(&PARTITIONS, seeds.clone());
    for (index, step) in &summary.steps {
        row(report, &PARTITIONS, *index, step);
    }
    let undercut: u64 = summary.steps.iter().map(|(_, step)| step.undercut).sum();
    report.bar("partitions: refused within a share", undercut as f64, Must::AtMost(0.0));
    settling_bars(report, &PARTITIONS, &summary);
}

fn heading(report: &Report, name: &str) {
    report.say("");
    let columns = ["limit", "within a fifth", "throughput", "settled after (s)"];
    report.row(name, &columns.map(str::to_owned));
}

fn row(report: &Report, scenario: &Scenario, index: usize, summary: &StepSummary) {
    let step = &scenario.steps[index];
    let label = format!("  {} of {} ms", step.capacity, step.service_ms);
    let range =
        |range: summary::Range| format!("{:.2} {:.2} {:.2}", range.lowest, range.median, range.highest);
    let settling = summary.settling_s;
    report.row(
        &label,
        &[
            range(summary.limit),
            format!("{} of {}", summary.settled, summary.runs),
            format!("{:.2} {:.2}", summary.throughput.lowest, summary.throughput.median),
            format!("{:.0} to {:.0}", settling.median, settling.highest),
        ],
    );
}
