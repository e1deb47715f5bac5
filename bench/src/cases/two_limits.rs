//! Two limits on one key against one.

use super::{Scale, Worst};
use crate::contenders::{AMPLE, Answer, Contender, DAY_S, SCANT, ample_window_s, fill};
use crate::measure::in_turns;
use crate::ours;
use crate::report::{Must, Report, grouped, versus};
use crate::workload::{Arrivals, Spread};

const KEY_COUNTS: [u64; 3] = [1, 1_000, 1_000_000];

/// Measures all cases.
pub fn run(report: &mut Report, scale: Scale) {
    report.say("\ntwo limits on one key; in brackets two / one");
    report.row("", &["counter", "counter + counter", "log + counter"].map(String::from));
    let mut worst = Worst::default();
    for keys in KEY_COUNTS {
        for answer in [Answer::Allowed, Answer::Denied] {
            let mut contenders = contenders(keys, answer);
            contenders.iter_mut().for_each(|contender| fill(contender, keys, answer));
            let arrivals = Arrivals::random(keys, Spread::Uniform, scale.arrivals(keys, 1));
            let mut turns: Vec<&mut dyn Contender> = contenders.iter_mut().map(|c| c as _).collect();
            let measured = in_turns(&mut turns, &arrivals, scale.plan(keys, 1), Some(answer));
            let two = |index| versus(measured.ns(index), measured.ratio_of(index, 0));
            let label = format!("{} uniform, {answer:?}", grouped(keys));
            report.row(&label.to_lowercase(), &[format!("{:.1}", measured.ns(0)), two(1), two(2)]);
            worst.note(measured.ratio_of(1, 0));
        }
    }
    let name = "two counters on one key / one, worst of all cases";
    report.bar(name, worst.0.unwrap_or(f64::INFINITY), Must::AtMost(1.25));
}

fn contenders(keys: u64, answer: Answer) -> [ours::Ours; 3] {
    let (quota, window_s) = match answer {
        Answer::Allowed => (AMPLE, ample_window_s(keys)),
        Answer::Denied => (SCANT, DAY_S),
    };
    let one = ours::counter(quota, window_s);
    let longer = ours::counter(quota, 10 * window_s);
    let log = match answer {
        // All requests of a slot share an entry, so that the log of a busy key stays small.
        Answer::Allowed => ours::default_log(quota, 1_000 * u64::from(window_s)),
        Answer::Denied => ours::exact_log(quota, 1_000 * u64::from(window_s)),
    };
    [
        ours::limiter("counter", &[one], keys),
        ours::limiter("counter + counter", &[one, longer], keys),
        ours::limiter("log + counter", &[log, longer], keys),
    ]
}
