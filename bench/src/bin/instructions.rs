//! Instructions per decision on one hot key, counted by callgrind: the same on a busy machine as on an idle one.
//!
//! Without a command it runs itself under valgrind, twice for every case with different numbers of decisions; the
//! difference has nothing of the start in it. `run KIND ANSWER COUNT` is what then runs inside.

use std::process::{Command, ExitCode};

use slidegate::Limit;
use slidegate_bench::ours::{self, Filling, Ours, Stepped};
use slidegate_bench::report::{Format, Must, Report};
use slidegate_bench::steps::Steps;

/// Quick or not, there is nothing to leave out here.
const OPTIONS: [&str; 2] = ["--json", "--quick"];
/// What is counted, and how much it may be. The log is exact, at quota 100, and full; `both` is that log and a counter.
const KINDS: [(&str, Option<f64>); 3] = [("counter", Some(220.0)), ("log", Some(300.0)), ("both", None)];
const ANSWERS: [&str; 2] = ["allowed", "denied"];
/// The first of [`KEYS`] keys.
const KEY: &str = "user:00000000";
const KEYS: u64 = 1;
const QUOTA: u32 = 100;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run", kind, answer, count] => run(kind, answer, count.parse().expect("a number of decisions")),
        options if options.iter().all(|option| OPTIONS.contains(option)) => {
            count_all(if options.contains(&"--json") { Format::Json } else { Format::Text })
        }
        _ => {
            eprintln!("usage: instructions [--json] [--quick]");
            eprintln!("       instructions run counter|log|both allowed|denied COUNT");
            ExitCode::from(2)
        }
    }
}

fn count_all(format: Format) -> ExitCode {
    let mut report = Report::new(format);
    report.say("\ninstructions per decision, one hot key, clock read included");
    report.row("", &ANSWERS.map(String::from));
    for (kind, most) in KINDS {
        let figures = ANSWERS.map(|answer| per_decision(kind, answer));
        report.row(kind, &figures.map(|figure| format!("{figure:.1}")));
        if let Some(most) = most {
            let worst = figures.into_iter().fold(0.0, f64::max);
            report.bar(format!("instructions per decision, {kind}"), worst, Must::AtMost(most));
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn per_decision(kind: &str, answer: &str) -> f64 {
    const FEW: u64 = 10_000;
    const MANY: u64 = 110_000;
    eprintln!("counting: {kind}, {answer}");
    let [few, many] = [FEW, MANY].map(|count| collected(kind, answer, count));
    (many - few) as f64 / (MANY - FEW) as f64
}

/// Runs this program under callgrind, which counts only inside [`measured_decisions`].
fn collected(kind: &str, answer: &str, count: u64) -> u64 {
    let this = std::env::current_exe().expect("a running program has a path");
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*measured_decisions*"])
        .arg(this)
        .args(["run", kind, answer, &count.to_string()])
        .output()
        .expect("valgrind is installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{kind}, {answer}: {said}");
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.unwrap_or_else(|| panic!("callgrind gave no count: {said}"));
    collected.trim().parse().expect("callgrind counts in digits")
}

fn run(kind: &str, answer: &str, count: usize) -> ExitCode {
    let ours = match (kind, answer) {
        ("counter", "allowed") => turning_counter(),
        ("counter", "denied") => full_counter(),
        ("log", "allowed") => full_log(&[log()], SPACING_MS),
        ("log", "denied") => full_log(&[log()], 0),
        ("both", "allowed") => full_log(&[log(), ample_counter()], SPACING_MS),
        ("both", "denied") => full_log(&[log(), ample_counter()], 0),
        _ => panic!("no such case: {kind}, {answer}"),
    };
    let expected = if answer == "allowed" { count } else { 0 };
    assert_eq!(measured_decisions(&ours, count), expected, "{kind} has to be {answer}");
    ExitCode::SUCCESS
}

#[inline(never)]
fn measured_decisions(ours: &Ours<Stepped>, count: usize) -> usize {
    (0..count).filter(|_| ours.decide(std::hint::black_box(KEY))).count()
}

const WINDOW_S: u32 = 1;
const WINDOW_MS: u64 = 1_000;
/// Between the entries of the log.
const SPACING_MS: u64 = WINDOW_MS / QUOTA as u64;

fn log() -> Limit {
    ours::exact_log(QUOTA, WINDOW_MS)
}

fn ample_counter() -> Limit {
    ours::counter(1_000_000, WINDOW_S)
}

/// Windows end all the time, and the one before is never empty.
fn turning_counter() -> Ours<Stepped> {
    let time = Steps::default();
    time.set_now(10 * WINDOW_MS);
    let counter = ours::stepped("", &[ample_counter()], KEYS, time.clone());
    time.set_step(1);
    for _ in 0..WINDOW_MS {
        counter.decide(KEY);
    }
    counter
}

/// Halfway through a window after a full one: both weigh in, and the wait has to be solved for.
fn full_counter() -> Ours<Stepped> {
    let time = Steps::default();
    let counter = ours::stepped("", &[ours::counter(QUOTA, WINDOW_S)], KEYS, time.clone());
    for now in [10 * WINDOW_MS, 11 * WINDOW_MS + WINDOW_MS / 2] {
        time.set_now(now);
        while counter.decide(KEY) {}
    }
    counter
}

/// A log with as many entries as its quota; with a step of their spacing, each decision finds one that has just left.
fn full_log(limits: &[Limit], step_ms: u64) -> Ours<Stepped> {
    let time = Steps::default();
    time.set_now(10 * WINDOW_MS);
    let log = ours::stepped("", limits, KEYS, time.clone());
    Filling { quota: QUOTA.into(), window_ms: WINDOW_MS, entries: QUOTA.into() }.fill_all(&log, KEYS, &time);
    time.set_step(step_ms);
    log
}
