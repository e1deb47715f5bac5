//! Instructions per decision on one hot key, counted by callgrind: the same on a busy machine as on
//! an idle one.
//!
//! Without a command it runs itself under valgrind, once for each case; callgrind counts only
//! inside [`measured_decisions`]. `run KIND ANSWER COUNT` runs inside.

use std::hint::black_box;
use std::process::ExitCode;

use slidegate::{Clock, Gate, Limit, Limiter, ManualClock, Memory, Policy, Request, SystemClock};
use slidegate_bench::report::{Format, Must, Report};
use slidegate_bench::{counted, ours};

/// Quick or not, there is nothing to leave out here.
const OPTIONS: [&str; 2] = ["--json", "--quick"];
/// Paths of a decision: the kind, the answer, and the bound.
const PATHS: [(&str, &str, Option<f64>); 13] = [
    ("counter", "allowed", Some(220.0)),
    ("counter", "denied", Some(220.0)),
    ("turned", "allowed", Some(220.0)),
    ("log", "allowed", Some(300.0)),
    ("log", "denied", Some(300.0)),
    ("two", "allowed", None),
    ("two", "denied", None),
    ("both", "allowed", None),
    ("both", "denied", None),
    ("rule", "allowed", Some(2_050.0)),
    ("rule", "denied", Some(2_050.0)),
    ("plain", "allowed", Some(1_050.0)),
    ("plain", "denied", Some(1_050.0)),
];
const KEY: &str = "user:00000000";
const QUOTA: u32 = 100;
const WINDOW_MS: u64 = 1_000;
/// Between two entries of a full log.
const SPACING_MS: u64 = WINDOW_MS / QUOTA as u64;
const DECISIONS: usize = 100_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["run", kind, answer] => run(kind, answer),
        options if options.iter().all(|option| OPTIONS.contains(option)) => {
            let format = if options.contains(&"--json") { Format::Json } else { Format::Text };
            count_all(format)
        }
        _ => {
            eprintln!("usage: instructions [--json] [--quick]");
            eprintln!("       instructions run counter|turned|log|two|both|rule|plain allowed|denied");
            ExitCode::from(2)
        }
    }
}

/// Holds every path against its bar.
fn count_all(format: Format) -> ExitCode {
    let mut report = Report::new(format);
    report.say("\ninstructions per decision, one hot key, clock read included");
    for (kind, answer, bar) in PATHS {
        let figure = per_decision(kind, answer);
        match bar {
            Some(most) => {
                let name = format!("instructions per decision, {kind}, {answer}");
                report.bar(name, figure, Must::AtMost(most));
            }
            None => report.row(&format!("{kind}, {answer}"), &[format!("{figure:.1}")]),
        }
    }
    if report.finish() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs this program under callgrind.
fn per_decision(kind: &str, answer: &str) -> f64 {
    counted::per_unit(&["run", kind, answer], DECISIONS)
}

fn run(kind: &str, answer: &str) -> ExitCode {
    match kind {
        "rule" => return run_rule(OTHER_RULE, answer),
        "plain" => return run_rule("", answer),
        _ => {}
    }
    if kind == "counter" || kind == "two" {
        let limiter = Limiter::new(limits(kind, answer)).expect("one limit goes with itself");
        (0..QUOTA).for_each(|_| drop(limiter.check(KEY)));
        return measure(&limiter, answer, || ());
    }
    let clock = ManualClock::new(10 * WINDOW_MS);
    let stepping = Stepping { real: SystemClock::new(), manual: clock.clone() };
    let limiter =
        Limiter::builder(limits(kind, answer)).clock(stepping).build().expect("the limits go together");
    if kind == "turned" {
        // Halfway through a window, after one that was not empty: both weigh in.
        let _ = limiter.check(KEY);
        clock.advance_ms(WINDOW_MS + WINDOW_MS / 2);
        let _ = limiter.check(KEY);
        return measure(&limiter, answer, || ());
    }
    // Full from here on, and its oldest entry about to leave.
    for _ in 0..QUOTA {
        clock.advance_ms(SPACING_MS);
        let _ = limiter.check(KEY);
    }
    if answer == "denied" {
        while limiter.check(KEY).is_allowed() {}
        return measure(&limiter, answer, || ());
    }
    // Each decision finds an entry that has just left. Moving the clock is counted too: three
    // instructions.
    measure(&limiter, answer, || clock.advance_ms(SPACING_MS))
}

/// Rule that applies to no request here. With it, requests are matched.
const OTHER_RULE: &str = "{ name: other, match: { plan: free }, limits: [1/s] }, ";

/// A gate with one rule that applies, as the server asks it: the request, the answer, and its numbers.
fn run_rule(other_rule: &str, answer: &str) -> ExitCode {
    let quota = if answer == "allowed" { 1_000_000 } else { 1 };
    let limit = format!("{{ quota: {quota}, window: 1h, algorithm: counter }}");
    let text = format!("version: 1\nrules: [{other_rule}{{ name: each, key: [ip], limits: [{limit}] }}]\n");
    let policy = Policy::parse("bench", &text).expect("a valid policy");
    let gate = Gate::new(policy, Memory::default());
    assert!(is_allowed(&gate), "the first one fits");
    measured_decisions_of_rule(&gate);
    assert_eq!(is_allowed(&gate), answer == "allowed", "every answer has to be {answer}");
    ExitCode::SUCCESS
}

#[inline(never)]
fn measured_decisions_of_rule(gate: &Gate<Memory>) {
    for _ in 0..DECISIONS {
        black_box(is_allowed(gate));
    }
}

#[inline(always)]
fn is_allowed(gate: &Gate<Memory>) -> bool {
    let mut request = Request::new();
    request.set("ip", black_box("203.0.113.7"));
    // By reference, as the server uses it.
    let Ok(Some(answer)) = &gate.check_now(&request) else { panic!("a store in memory decides") };
    black_box(&answer.summary());
    answer.is_allowed()
}

fn measure<C: Clock>(limiter: &Limiter<Memory, C>, answer: &str, before_each: impl Fn()) -> ExitCode {
    measured_decisions(limiter, &before_each);
    before_each();
    assert_eq!(limiter.check(KEY).is_allowed(), answer == "allowed", "every answer has to be {answer}");
    ExitCode::SUCCESS
}

fn limits(kind: &str, answer: &str) -> Vec<Limit> {
    let quota = if answer == "allowed" { 1_000_000 } else { QUOTA };
    let log = ours::exact_log(QUOTA, WINDOW_MS);
    match kind {
        "counter" => vec![ours::counter(quota, 3_600)],
        "two" => vec![ours::counter(quota, 3_600), ours::counter(quota, 36_000)],
        "turned" => vec![ours::counter(quota, 1)],
        "log" => vec![log],
        _ => vec![log, ours::counter(1_000_000, 3_600)],
    }
}

/// Reads the system's clock, for its cost, and tells the time that was set by hand.
struct Stepping {
    real: SystemClock,
    manual: ManualClock,
}

impl Clock for Stepping {
    #[inline(always)]
    fn now_ms(&self) -> u64 {
        black_box(self.real.now_ms());
        self.manual.now_ms()
    }
}

#[inline(never)]
fn measured_decisions<C: Clock>(limiter: &Limiter<Memory, C>, before_each: &impl Fn()) {
    for _ in 0..DECISIONS {
        before_each();
        // By reference: the whole answer has to be there, but it need not be copied.
        black_box(&limiter.check(black_box(KEY)));
    }
}
