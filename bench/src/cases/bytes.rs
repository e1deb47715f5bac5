//! Bytes per key, averaged between 500,000 and 1,000,000 keys: tables grow by doubling, and a
//! single count would show their best or their worst.

use crate::contenders::textbook::Textbook;
use crate::contenders::throttlecrab::Throttlecrab;
use crate::contenders::{AMPLE, Answer, Contender, DAY_S, governor};
use crate::memory::counted;
use crate::ours::{self, Filling};
use crate::report::{Must, Report};
use crate::workload::{Arrivals, Keys};
use slidegate::Limit;

const FROM: usize = 500_000;
const TO: usize = 1_000_000;
const EVERY: usize = 50_000;
const SAMPLES: f64 = ((TO - FROM) / EVERY + 1) as f64;
const HOUR_S: u32 = 3_600;

/// Measures all cases.
pub fn run(report: &mut Report) {
    report.say("\nbytes per key as malloc hands them out, averaged over 500,000 to 1,000,000 keys");
    let arrivals = Arrivals::each(0..TO as u64, 1);
    report.row("", &["", "by its own account"].map(String::from));
    let limit = ours::counter(AMPLE, HOUR_S);
    let counter = Bytes::of_limits(&arrivals, &[limit]);
    counter.report(report, "slidegate counter");
    report.bar("bytes per key, counter", counter.allocated, Must::AtMost(64.0));
    Bytes::of_limits(&arrivals, &[limit, ours::counter(AMPLE, DAY_S)])
        .report(report, "slidegate, two counters");
    peer(report, &arrivals, "governor, String keys", || governor::default(Answer::Allowed));
    peer(report, &arrivals, "throttlecrab", || Throttlecrab::new(Answer::Allowed, 1_000));
    peer(report, &arrivals, "textbook log, one entry", || Textbook::new(Answer::Allowed, TO as u64));

    let window_ms = u64::from(HOUR_S) * 1_000;
    let log = full_log(&arrivals, Filling { quota: 100, window_ms, entries: 100 });
    log.report(report, "slidegate log, quota 100, full");
    report.bar("bytes per key, full log at quota 100", log.allocated, Must::AtMost(8.0 * 100.0 + 64.0));

    let log = full_log(&arrivals, Filling { quota: 10_000, window_ms, entries: 128 });
    log.report(report, "slidegate log, quota 10,000, full");
    report.bar("bytes per key, full log at quota 10,000", log.allocated, Must::AtMost(1_280.0));
}

fn peer<C: Contender>(report: &Report, arrivals: &Arrivals, name: &str, make: impl FnOnce() -> C) {
    let bytes = Bytes::per_key(arrivals, || {
        let contender = make();
        move |keys: Keys<'_>| {
            contender.run(keys);
            None
        }
    });
    bytes.report(report, name);
}

/// A log at its default resolution, filled key by key.
fn full_log(arrivals: &Arrivals, filling: Filling) -> Bytes {
    let limit = ours::default_log(filling.quota as u32, filling.window_ms);
    Bytes::per_key(arrivals, || {
        let (log, clock) = ours::manual(limit, TO as u64);
        let end_ms = 2 * filling.window_ms;
        move |keys: Keys<'_>| {
            keys.iter().for_each(|key| filling.fill(&log, key, end_ms, 0, |ms| clock.set_ms(ms)));
            Some(log.bytes())
        }
    })
}

/// Bytes per key.
struct Bytes {
    allocated: f64,
    own_account: Option<f64>,
}

impl Bytes {
    /// Bytes per key of our limiter, after each key has come once.
    fn of_limits(arrivals: &Arrivals, limits: &[Limit]) -> Self {
        Self::per_key(arrivals, || {
            let limiter = ours::limiter("", limits, TO as u64);
            move |keys: Keys<'_>| {
                limiter.run_all(keys);
                Some(limiter.bytes())
            }
        })
    }

    /// Adds keys to what `make` gives, which may tell its own account of what it uses; averages the
    /// samples.
    fn per_key<V>(arrivals: &Arrivals, make: impl FnOnce() -> V) -> Self
    where
        V: FnMut(Keys<'_>) -> Option<usize>,
    {
        counted(|bytes| {
            let mut visit = make();
            let mut sum = Self { allocated: 0.0, own_account: None };
            for start in (0..TO).step_by(EVERY) {
                let own_account = visit(arrivals.stretch(start, EVERY));
                let keys = (start + EVERY) as f64;
                if start + EVERY >= FROM {
                    sum.allocated += bytes() as f64 / keys / SAMPLES;
                    let own_account = own_account.map(|own| own as f64 / keys / SAMPLES);
                    sum.own_account = own_account.map(|own| own + sum.own_account.unwrap_or(0.0));
                }
            }
            sum
        })
    }

    fn report(&self, report: &Report, name: &str) {
        let cells = [Some(self.allocated), self.own_account].into_iter().flatten();
        report.row(name, &cells.map(|bytes| format!("{bytes:.1}")).collect::<Vec<_>>());
    }
}
