//! CPU time of the server per decision, with 16 requests in flight, in the steady state.

use super::super::load::Load;
use super::super::measured::Measured;
use super::super::question::Question;
use super::super::server::Server;
use super::super::steady::Steady;
use super::super::sweep::Sweep;
use super::super::textbook::{self, Rate};
use super::super::{Scale, ours};
use crate::ours::{counter_ms, default_log, exact_log};
use crate::report::{Must, Report};

/// A bar: its name, the contender, and the most that it may cost compared with the first.
type Bar = (&'static str, usize, f64);

/// Measures all cases.
pub fn run(report: &mut Report, server: &Server, scale: Scale) {
    report.say("\nserver time per decision, 16 in flight; in brackets the lowest and the highest round");
    let mut compare = |title: &str, quota: u64, make: &dyn Fn(u64) -> Vec<Question>, bars: &[Bar]| {
        eprintln!("measuring: {title}");
        report.say(&format!("\n{title}"));
        let load = if quota > 100 { Load::LARGE_QUOTA } else { Load::PIPELINED };
        let steady = Steady { quota, load, scale };
        let make = |window_ms| Sweep::all(server, make(window_ms), steady.load);
        let measured = steady.measure(report, server, &make);
        show(report, &measured);
        for (name, index, most) in bars {
            report.bar(format!("server time, {name}"), measured.ratio(*index, 0).median, Must::AtMost(*most));
        }
    };
    compare(
        "log at quota 100, full",
        100,
        &|window_ms| logs_of_100(server, window_ms),
        &[("log at quota 100 / ZSET log", 1, 0.65), ("log at quota 100, 16 coalesced / ZSET log", 2, 0.35)],
    );
    compare(
        "log at quota 1000, full",
        1_000,
        &|window_ms| logs_of_1000(server, window_ms),
        &[("log at quota 1000 / ZSET log", 1, 0.6), ("log at quota 1000, r = 1 / ZSET log", 2, 0.75)],
    );
    compare(
        "counter at quota 100",
        100,
        &|window_ms| counters(server, window_ms),
        &[("counter / two-key counter", 1, 0.7)],
    );
    compare(
        "two logs of one subject, 100 and 1000 in ten times as long, full",
        1_000,
        &|window_ms| two_logs(server, window_ms),
        &[("two limits / two ZSET logs", 1, 0.5)],
    );
}

fn logs_of_100(server: &Server, window_ms: u64) -> Vec<Question> {
    let rate = Rate { quota: 100, window_ms };
    let limits = [default_log(100, window_ms)];
    vec![
        textbook::zset_log(server, rate),
        ours::single(server, "slidegate log", &limits),
        ours::coalesced(server, "slidegate log, coalesced", &limits),
        textbook::zset_log_of_times(server, rate),
    ]
}

fn logs_of_1000(server: &Server, window_ms: u64) -> Vec<Question> {
    vec![
        textbook::zset_log(server, Rate { quota: 1_000, window_ms }),
        ours::single(server, "slidegate log", &[default_log(1_000, window_ms)]),
        ours::single(server, "slidegate log, r = 1", &[exact_log(1_000, window_ms)]),
        ours::coalesced(server, "slidegate log, coalesced", &[default_log(1_000, window_ms)]),
    ]
}

fn counters(server: &Server, window_ms: u64) -> Vec<Question> {
    let rate = Rate { quota: 100, window_ms };
    let limits = [counter_ms(100, window_ms)];
    vec![
        textbook::two_key_counter(server, rate),
        ours::single(server, "slidegate counter", &limits),
        ours::coalesced(server, "slidegate counter, coalesced", &limits),
        textbook::two_key_counter_lean(server, rate),
        Question::incr(),
        Question::ping(),
    ]
}

fn two_logs(server: &Server, window_ms: u64) -> Vec<Question> {
    let rates = [Rate { quota: 100, window_ms: window_ms / 10 }, Rate { quota: 1_000, window_ms }];
    let limits = [default_log(100, window_ms / 10), default_log(1_000, window_ms)];
    vec![
        textbook::two_zset_logs(server, rates),
        ours::single(server, "slidegate, two logs", &limits),
        ours::coalesced(server, "slidegate, two logs, coalesced", &limits),
    ]
}

fn show(report: &Report, measured: &Measured) {
    report.row("", &["us", "/ the first"].map(String::from));
    for (index, name) in measured.names().iter().enumerate() {
        let cells = [format!("{:.2}", measured.cpu_us(index)), measured.ratio(index, 0).to_string()];
        report.row(name, &cells);
    }
}
