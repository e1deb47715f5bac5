//! Cost of a larger quota: a full log, from quota 10 to 10,000.

use super::{Scale, Worst};
use crate::contenders::{Answer, Contender};
use crate::measure::{Measured, in_turns};
use crate::ours::{self, Filling, Ours, Stepped};
use crate::report::{Must, Report, grouped, versus};
use crate::steps::Steps;
use crate::workload::{Arrivals, Spread};
use slidegate::Limit;

const SMALL: u32 = 10;
const LARGE: u32 = 10_000;
/// Time per decision in the steady state.
const STEP: u64 = 4;
const DAY_MS: u64 = 86_400_000;

/// Measures all cases.
pub fn run(report: &mut Report, scale: Scale) {
    report.say("\nlog, every key's log full, by quota; in brackets its time / that of quota 10");
    report.row("", &["quota 10", "10,000 default", "10,000 exact"].map(String::from));
    let mut worst = Worst::default();
    let mut note = |label: &str, measured: &Measured| {
        let mut cells = vec![format!("{:.1}", measured.ns(0))];
        for index in 1..measured.names().len() {
            let ratio = measured.ratio_of(index, 0);
            worst.note(ratio);
            cells.push(versus(measured.ns(index), ratio));
        }
        report.row(label, &cells);
    };

    // A key comes twice as often as its entries leave, so half of what comes is let through.
    let (small_ms, large_ms) = (2 * u64::from(SMALL) * STEP, 2 * u64::from(LARGE) * STEP);
    let mut hot = [
        Full::new(1, ours::exact_log(SMALL, small_ms)),
        Full::new(1, ours::default_log(LARGE, large_ms)),
        Full::new(1, ours::exact_log(LARGE, large_ms)),
    ];
    note("1 uniform, full", &measure(&mut hot, 1, scale, 0));
    note("1 uniform, steady", &measure(&mut hot, 1, scale, STEP));
    drop(hot);

    // Not the exact log here, which would take gigabytes, and no steady state: entries of 10,000
    // requests to each of 100,000 keys leave too rarely to see one.
    const KEYS: u64 = 100_000;
    let many = [ours::exact_log(SMALL, DAY_MS), ours::default_log(LARGE, DAY_MS)];
    let mut many = many.map(|limit| Full::new(KEYS, limit));
    note(&format!("{} uniform, full", grouped(KEYS)), &measure(&mut many, KEYS, scale, 0));

    let name = "log at quota 10,000 / at quota 10, worst of all cases";
    report.bar(name, worst.0.unwrap_or(f64::INFINITY), Must::Below(1.5));
}

fn measure(logs: &mut [Full], keys: u64, scale: Scale, step: u64) -> Measured {
    let arrivals = Arrivals::random(keys, Spread::Uniform, scale.arrivals(keys, 1));
    logs.iter().for_each(|log| log.time.set_step(step));
    let answer = (step == 0).then_some(Answer::Denied);
    let mut turns: Vec<&mut dyn Contender> = logs.iter_mut().map(|log| &mut log.log as _).collect();
    in_turns(&mut turns, &arrivals, scale.plan(keys, 1), answer)
}

/// A log that is full for every key, and its time.
struct Full {
    log: Ours<Stepped>,
    time: Steps,
}

impl Full {
    fn new(keys: u64, limit: Limit) -> Self {
        let (quota, window_ms) = (limit.quota(), limit.window_ms());
        let time = Steps::default();
        time.set_now(2 * window_ms);
        let log = ours::stepped("log", &[limit], keys, time.clone());
        let entries = quota.min(window_ms / limit.resolution_ms());
        Filling { quota, window_ms, entries }.fill_all(&log, keys, &time);
        Self { log, time }
    }
}
