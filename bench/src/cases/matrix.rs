//! Our counter against every peer: key counts, spreads, threads, allowed and denied.

use super::{Scale, Worst};
use crate::contenders::limitador::Limitador;
use crate::contenders::textbook::Textbook;
use crate::contenders::throttlecrab::Throttlecrab;
use crate::contenders::{AMPLE, Answer, Contender, DAY_S, SCANT, ample_window_s, fill, governor};
use crate::measure::{Measured, in_turns};
use crate::ours;
use crate::report::{Must, Report, grouped, versus};
use crate::workload::{Arrivals, Spread};

/// Places in the order of the contenders.
const GOVERNOR: usize = 1;
const GOVERNOR_AHASH: usize = 2;

/// Above this many keys limitador is left out: it would take gigabytes and minutes to fill.
const MOST_FOR_LIMITADOR: u64 = 1_000_000;

/// Line of the table.
#[derive(Clone, Copy, Debug)]
struct Case {
    keys: u64,
    spread: Spread,
    threads: usize,
    answer: Answer,
}

/// Figures with bars.
#[derive(Default)]
struct Bars {
    hot: Worst,
    hot_two_threads: Worst,
    million: Worst,
    ten_million: Worst,
    ahash: Worst,
}

/// Measures all cases.
pub fn run(report: &mut Report, scale: Scale) {
    report.say(
        "\nns per decision as a thread sees it; in brackets ours / theirs, the median of the rounds' ratios",
    );
    let names =
        ["slidegate counter", "governor", "governor ahash", "throttlecrab", "textbook log", "limitador"];
    report.row("", &names.map(String::from));
    let mut bars = Bars::default();
    for &keys in scale.key_counts {
        for answer in [Answer::Allowed, Answer::Denied] {
            measure(report, scale, &mut bars, keys, answer);
        }
    }
    if scale.key_counts.iter().any(|keys| *keys > MOST_FOR_LIMITADOR) {
        report.say(
            "limitador is not measured above 1,000,000 keys: it would take gigabytes and minutes to fill",
        );
    }
    bars.report(report);
}

fn measure(report: &Report, scale: Scale, bars: &mut Bars, keys: u64, answer: Answer) {
    eprintln!("filling {} keys, {answer:?}", grouped(keys));
    let mut contenders = contenders(keys, answer);
    for contender in &mut contenders {
        fill(contender.as_mut(), keys, answer);
    }
    for &spread in Spread::of(keys) {
        let arrivals = Arrivals::random(keys, spread, scale.arrivals(keys, 2));
        for threads in [1, 2] {
            let mut turns: Vec<&mut dyn Contender> = contenders.iter_mut().map(|c| c.as_mut() as _).collect();
            let measured = in_turns(&mut turns, &arrivals, scale.plan(keys, threads), Some(answer));
            let case = Case { keys, spread, threads, answer };
            case.report(report, &measured);
            bars.note(case, &measured);
        }
    }
}

fn contenders(keys: u64, answer: Answer) -> Vec<Box<dyn Contender>> {
    let limit = match answer {
        Answer::Allowed => ours::counter(AMPLE, ample_window_s(keys)),
        Answer::Denied => ours::counter(SCANT, DAY_S),
    };
    let mut contenders: Vec<Box<dyn Contender>> = vec![
        Box::new(ours::limiter("slidegate counter", &[limit], keys)),
        Box::new(governor::default(answer)),
        Box::new(governor::ahash(answer)),
        Box::new(Throttlecrab::new(answer, keys)),
        Box::new(Textbook::new(answer, keys)),
    ];
    if keys <= MOST_FOR_LIMITADOR {
        contenders.push(Box::new(Limitador::new(answer, keys)));
    }
    contenders
}

impl Case {
    fn report(&self, report: &Report, measured: &Measured) {
        let Self { keys, spread, threads, answer } = self;
        let plural = if *threads == 1 { "" } else { "s" };
        let label = format!("{} {spread:?}, {threads} thread{plural}, {answer:?}", grouped(*keys));
        let mut cells = vec![format!("{:.1}", measured.ns(0))];
        let peers = 1..measured.names().len();
        cells.extend(peers.map(|peer| versus(measured.ns(peer), measured.ratio(peer))));
        report.row(&label.to_lowercase(), &cells);
    }
}

impl Bars {
    fn note(&mut self, case: Case, measured: &Measured) {
        let ratio = measured.ratio(GOVERNOR);
        match (case.keys, case.spread, case.threads) {
            (1, _, 1) => self.hot.note(ratio),
            (1, _, _) => self.hot_two_threads.note(ratio),
            (1_000_000, Spread::Uniform, 1) => self.million.note(ratio),
            (10_000_000, Spread::Uniform, 1) => self.ten_million.note(ratio),
            _ => {}
        }
        self.ahash.note(measured.ratio(GOVERNOR_AHASH));
    }

    fn report(&self, report: &mut Report) {
        let bars = [
            ("counter / governor, one hot key", self.hot, 0.75),
            ("counter / governor, one hot key, two threads", self.hot_two_threads, 0.75),
            ("counter / governor, 1,000,000 uniform keys", self.million, 0.5),
            ("counter / governor, 10,000,000 uniform keys", self.ten_million, 0.5),
            ("counter / governor with ahash, worst of all cases", self.ahash, 1.25),
        ];
        for (name, worst, most) in bars {
            match worst.0 {
                Some(figure) => report.bar(name, figure, Must::AtMost(most)),
                None => report.say(&format!("not measured: {name}")),
            }
        }
    }
}
