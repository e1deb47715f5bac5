//! Memory of the server per key with a full log.

use std::time::Duration;

use super::super::load::Load;
use super::super::question::Question;
use super::super::resp::Reply;
use super::super::server::Server;
use super::super::sweep::Sweep;
use super::super::textbook::{self, Rate};
use super::super::turns::{Turns, cycle_time};
use super::super::{HOUR_MS, Scale, ours};
use crate::ours::{counter_ms, default_log, exact_log};
use crate::report::{Must, Report, grouped};

/// The window is longer than it takes to fill a log, so that nothing has left when the last entry
/// comes.
const SPARE: f64 = 1.1;
/// Shortest window: long enough that no key expires before the memory is read.
const SHORTEST_MS: u64 = 3_000;
/// Between two entries of a key. A log of 1,000 then takes longer to fill than the shortest window,
/// as it must: only so are all of its slots used.
const SHORTEST_PACE: Duration = Duration::from_millis(3);

/// Measures all cases.
pub fn run(report: &mut Report, server: &Server, scale: Scale) {
    report.say("\nbytes per key, full: the server's memory / keys, with its tables and the expiry");
    report.row("", &["bytes", "by MEMORY USAGE", "entries", "keys"].map(String::from));
    let per_key = |label: &str, fill: Fill, make: &dyn Fn(u64) -> Question| {
        eprintln!("filling: {label}");
        let fill = Fill { keys: fill.keys / scale.divisor, ..fill };
        let Filled { bytes, of_one, entries } = fill.measure(server, make);
        let cells = [format!("{bytes:.0}"), of_one.to_string(), format!("{entries:.1}"), grouped(fill.keys)];
        report.row(label, &cells);
        bytes
    };
    let zset = |quota| move |window_ms| textbook::zset_log(server, Rate { quota, window_ms });
    let log = |quota| move |window_ms| ours::single(server, "log", &[default_log(quota, window_ms)]);
    let exact = |window_ms| ours::single(server, "log", &[exact_log(1_000, window_ms)]);

    let (of_5, of_100, of_1000) = (Fill::new(5, 8_000), Fill::new(100, 2_000), Fill::new(1_000, 400));
    per_key("ZSET log, quota 5", of_5, &zset(5));
    per_key("slidegate log, quota 5", of_5, &log(5));
    let zset_100 = per_key("ZSET log, quota 100", of_100, &zset(100));
    per_key("ZSET log, quota 100, only times", of_100, &|window_ms| {
        textbook::zset_log_of_times(server, Rate { quota: 100, window_ms })
    });
    let log_100 = per_key("slidegate log, quota 100", of_100, &log(100));
    // So large that fewer keys will do.
    let zset_1000 = per_key("ZSET log, quota 1000", Fill { keys: 200, ..of_1000 }, &zset(1_000));
    let exact_1000 = per_key("slidegate log, quota 1000, r = 1", of_1000, &exact);
    let log_1000 = per_key("slidegate log, quota 1000", of_1000, &log(1_000));
    let once = Fill::new(1, 60_000);
    per_key("two-key counter, one of its keys", once, &|window_ms| {
        textbook::two_key_counter(server, Rate { quota: 100, window_ms })
    });
    let counter =
        per_key("slidegate counter", once, &|ms| ours::single(server, "counter", &[counter_ms(100, ms)]));
    per_key("INCR, no expiry", once, &|_| Question::incr());

    report.bar("bytes per key, ZSET log / log at quota 100", zset_100 / log_100, Must::AtLeast(3.5));
    report.bar(
        "bytes per key, ZSET log / log at quota 1000, r = 1",
        zset_1000 / exact_1000,
        Must::AtLeast(10.0),
    );
    report.bar("bytes per key, ZSET log / log at quota 1000", zset_1000 / log_1000, Must::AtLeast(50.0));
    report.bar("bytes per key, counter", counter, Must::AtMost(150.0));
}

/// Filling of the logs of many keys.
#[derive(Clone, Copy)]
struct Fill {
    quota: u64,
    keys: u64,
}

impl Fill {
    fn new(quota: u64, keys: u64) -> Self {
        Self { quota, keys }
    }

    /// Requests come at an even pace over nearly the whole window: a log that keeps time in slots
    /// has to have used all of them.
    fn measure(&self, server: &Server, make: &dyn Fn(u64) -> Question) -> Filled {
        let load = Load { subjects: self.keys, ..Load::PIPELINED };
        let sweep = |window_ms: u64| Sweep::all(server, vec![make(window_ms)], load);
        let pace = cycle_time(&mut sweep(HOUR_MS)).mul_f64(1.3).max(SHORTEST_PACE);
        server.flush();
        let window_ms = (pace.as_secs_f64() * 1e3 * self.quota as f64 * SPARE) as u64;
        let mut turns = Turns::new(server, sweep(window_ms.max(SHORTEST_MS)), pace);
        let before = used_memory(server);
        turns.run(1, self.quota as usize);
        let bytes = (used_memory(server) - before) / self.keys as f64;
        let (of_one, entries) = (usage_of_one(server), turns.measured().least_admitted() * self.quota as f64);
        server.flush();
        Filled { bytes, of_one, entries }
    }
}

/// Memory of a key.
struct Filled {
    bytes: f64,
    /// Memory of one key, by MEMORY USAGE.
    of_one: i64,
    /// Number of admissions of the key.
    entries: f64,
}

fn usage_of_one(server: &Server) -> i64 {
    let mut connection = server.connect();
    let key = connection.show(&["RANDOMKEY"], |reply| match reply {
        Reply::Bytes(key) => key.to_vec(),
        other => panic!("{other:?} is no key"),
    });
    let command: [&[u8]; 5] = [b"MEMORY", b"USAGE", &key, b"SAMPLES", b"0"];
    connection.show(&command, |reply| match reply {
        Reply::Number(bytes) => bytes,
        other => panic!("{other:?} is no number of bytes"),
    })
}

fn used_memory(server: &Server) -> f64 {
    let used = server.connect().info("memory", "used_memory");
    used.and_then(|bytes| bytes.parse().ok()).expect("the server knows its memory")
}
