//! CPU time of a replay, against reading the log alone and deciding alone.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;

use slidegate::{Gate, ManualClock, Memory, Policy, Request};
use slidegate_tune::access_log::{AccessLogs, FileFacts, LogInput, NoProgress, ReadOptions};
use slidegate_tune::replay::{AlgorithmReplays, LimitedRequests, Replay, ReplayOptions, ReplayPolicy};

use super::{POLICIES, Scale, cpu};
use crate::middle::median;
use crate::report::{Must, Report};

/// Most that a replay may cost: so many times the sum of its two parts.
const MOST: f64 = 1.35;
const MAX_MEMORY: usize = 1 << 30;

/// Request in memory, with the values of the needed attributes.
struct StoredRequest {
    start_ms: u64,
    values: Box<[Box<str>]>,
}

/// Measures all policies over a log.
///
/// # Panics
/// If the log cannot be read.
pub fn run(report: &mut Report, log: &Path, scale: Scale) {
    report.row("CPU time per line", &["parse", "decide", "replay", "ratio"].map(str::to_owned));
    for (name, text) in POLICIES {
        let policy = ReplayPolicy::parse("policy.yaml", text).expect("a policy");
        let options = ReadOptions {
            inputs: vec![LogInput::File(log.to_owned())],
            needed: policy.attributes(),
            ..ReadOptions::default()
        };
        let requests = stored(&options);
        let lines = requests.len() as f64;
        let turn = || {
            [
                time(|| parse(&options)),
                time(|| decide(text, &options.needed, &requests)),
                time(|| replay(&policy, &options)),
            ]
            .map(|ns| ns / lines)
        };
        let turns: Vec<[f64; 3]> = (0..scale.rounds).map(|_| turn()).collect();
        let ns = |index: usize| format!("{:.0} ns", median(turns.iter().map(|turn| turn[index]).collect()));
        let ratio = median(turns.iter().map(|[parse, decide, replay]| replay / (parse + decide)).collect());
        report.row(name, &[ns(0), ns(1), ns(2), format!("{ratio:.2}")]);
        let bar = format!("replay, {name}: CPU against parsing alone + deciding alone");
        report.bar(bar, ratio, Must::AtMost(MOST));
    }
}

/// CPU time of all threads, in nanoseconds.
fn time(work: impl FnOnce()) -> f64 {
    let before = cpu();
    work();
    (cpu() - before).as_nanos() as f64
}

fn parse(options: &ReadOptions) {
    let logs = AccessLogs::open(options).expect("a log");
    let read = logs.read(&NoProgress, |request| {
        black_box(request.start_ms);
        ControlFlow::Continue(())
    });
    black_box(read.expect("a log"));
}

fn decide(policy: &str, names: &[String], requests: &[StoredRequest]) {
    let clock = ManualClock::new(0);
    let policy = Policy::parse("policy.yaml", policy).expect("a policy");
    let gate = Gate::new(policy, Memory::new(MAX_MEMORY)).clock(clock.clone());
    for StoredRequest { start_ms, values } in requests {
        clock.set_ms(*start_ms);
        let attributes = names.iter().zip(values);
        let request =
            attributes.fold(Request::new(), |request, (name, value)| request.with(&**name, &**value));
        let _ = black_box(gate.check_now(&request));
    }
}

fn replay(policy: &ReplayPolicy, options: &ReadOptions) {
    let logs = AccessLogs::open(options).expect("a log");
    let files: Vec<(String, FileFacts)> =
        logs.files().filter_map(|(name, facts)| Some((name, facts?.clone()))).collect();
    let options = ReplayOptions {
        policy: policy.clone(),
        against: None,
        algorithms: AlgorithmReplays::Skip,
        limited: LimitedRequests::Ask,
        thresholds: Vec::new(),
        max_memory: MAX_MEMORY,
    };
    let mut replay = Replay::new(options, &files).expect("a replay");
    let read = logs.read(&NoProgress, |request| {
        replay.decide(request).expect("no file is written");
        ControlFlow::Continue(())
    });
    black_box(replay.finish(&read.expect("a log")).expect("no file is written"));
}

fn stored(options: &ReadOptions) -> Vec<StoredRequest> {
    let mut requests = Vec::new();
    let read = AccessLogs::open(options).expect("a log").read(&NoProgress, |request| {
        let values = (0..options.needed.len()).map(|index| request.needed(index).unwrap_or_default().into());
        requests.push(StoredRequest { start_ms: request.start_ms, values: values.collect() });
        ControlFlow::Continue(())
    });
    read.expect("a log");
    requests
}
