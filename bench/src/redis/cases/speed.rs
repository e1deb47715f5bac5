//! Decisions per second and round trip times, for orientation.

use super::super::load::Load;
use super::super::question::Question;
use super::super::server::Server;
use super::super::steady::Steady;
use super::super::sweep::Sweep;
use super::super::textbook::{self, Rate};
use super::super::{Scale, ours};
use crate::ours::{counter_ms, default_log};
use crate::report::{Report, grouped};

const QUOTA: u64 = 100;

/// Measures all cases.
pub fn run(report: &Report, server: &Server, scale: Scale) {
    for (title, load) in [("one at a time", Load::ONE_BY_ONE), ("16 pipelined", Load::PIPELINED)] {
        report.say(&format!("\nthroughput at quota {QUOTA}, full, {title}; p50 and p99 are of a round trip"));
        let steady = Steady { quota: QUOTA, load, scale };
        let make = |window_ms| Sweep::all(server, questions(server, window_ms), load);
        let measured = steady.measure(report, server, &make);
        report.row("", &["per second", "p50 us", "p99 us", "server us each"].map(String::from));
        for (index, name) in measured.names().iter().enumerate() {
            let cells = [
                grouped(measured.per_second(index) as u64),
                format!("{:.0}", measured.trip_us(index, 0.5)),
                format!("{:.0}", measured.trip_us(index, 0.99)),
                format!("{:.2}", measured.cpu_us(index)),
            ];
            report.row(name, &cells);
        }
    }
}

fn questions(server: &Server, window_ms: u64) -> Vec<Question> {
    let rate = Rate { quota: QUOTA, window_ms };
    let (log, counter) = (default_log(QUOTA as u32, window_ms), counter_ms(QUOTA as u32, window_ms));
    vec![
        Question::ping(),
        Question::incr(),
        textbook::zset_log(server, rate),
        textbook::two_key_counter(server, rate),
        ours::single(server, "slidegate log", &[log]),
        ours::single(server, "slidegate counter", &[counter]),
        ours::coalesced(server, "slidegate log, coalesced", &[log]),
        ours::coalesced(server, "slidegate counter, coalesced", &[counter]),
    ]
}
