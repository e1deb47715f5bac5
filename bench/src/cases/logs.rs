//! Our exact log at quota 100, with 100 entries for every key, against governor and the textbook.
//!
//! Full: nothing leaves, everything is denied. Steady: entries leave as others come, and each
//! admission writes a new one, which is the most that a log can be made to do.

use super::{Scale, Worst};
use crate::contenders::textbook::Textbook;
use crate::contenders::{Answer, Contender, fill, governor};
use crate::measure::{Measured, Plan, in_turns};
use crate::ours::{self, Filling};
use crate::report::{Must, Report, grouped, versus};
use crate::steps::Steps;
use crate::workload::{Arrivals, Spread};

const QUOTA: u64 = 100;
const KEY_COUNTS: [u64; 3] = [1, 1_000, 1_000_000];
/// Time per decision in the steady state.
const STEP: u64 = 4;
const GOVERNOR: usize = 1;

/// Measures all cases.
pub fn run(report: &mut Report, scale: Scale) {
    report.say("\nexact log, quota 100, every key's log full; in brackets ours / theirs");
    let names = ["slidegate log", "governor", "textbook log", "ours let through"];
    report.row("", &names.map(String::from));
    let (mut uniform, mut zipf) = (Worst::default(), Worst::default());
    for keys in KEY_COUNTS {
        eprintln!("filling the logs of {} keys", grouped(keys));
        let mut group = Group::new(keys);
        // First what needs every log full, then what changes them.
        for state in [State::Full, State::Steady] {
            group.enter(state);
            for &spread in Spread::of(keys) {
                let arrivals = Arrivals::random(keys, spread, scale.arrivals(keys, 1));
                let measured = group.measure(state, &arrivals, scale.plan(keys, 1));
                show(report, &format!("{} {spread:?}, {state:?}", grouped(keys)), &measured);
                let worst = if spread == Spread::Uniform { &mut uniform } else { &mut zipf };
                worst.note(measured.ratio(GOVERNOR));
            }
        }
    }
    let bars = [("uniform", uniform, 1.0), ("zipf", zipf, 1.3)];
    for (spread, worst, most) in bars {
        let name = format!("full exact log at quota 100 / governor, {spread} keys, worst up to 1,000,000");
        report.bar(name, worst.0.unwrap_or(f64::INFINITY), Must::AtMost(most));
    }
}

fn show(report: &Report, label: &str, measured: &Measured) {
    let mut cells = vec![format!("{:.1}", measured.ns(0))];
    let peers = 1..measured.names().len();
    cells.extend(peers.map(|peer| versus(measured.ns(peer), measured.ratio(peer))));
    cells.push(format!("{:.0} %", 100.0 * measured.allowed(0)));
    report.row(&label.to_lowercase(), &cells);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Full,
    Steady,
}

/// Everyone, filled, for one number of keys. Each has a time of its own.
struct Group {
    keys: u64,
    times: [Steps; 3],
    log: Box<dyn Contender>,
    textbook: Textbook,
    governor_steady: Box<dyn Contender>,
    governor_full: Box<dyn Contender>,
}

impl Group {
    fn new(keys: u64) -> Self {
        // A key comes twice as often as its entries leave, so half of what comes is let through.
        let window = 2 * QUOTA * keys * STEP;
        let times = [(); 3].map(|()| Steps::default());
        let mut governor_full = governor::default(Answer::Denied);
        fill(&mut governor_full, keys, Answer::Denied);
        let governor_steady = governor::stepped(QUOTA as u32, window, times[1].clone());
        times.iter().for_each(|time| time.set_now(2 * window));
        governor_steady.fill(keys, QUOTA as u32, window);
        let limit = ours::exact_log(QUOTA as u32, window);
        let log = ours::stepped("slidegate log", &[limit], keys, times[0].clone());
        Filling { quota: QUOTA, window_ms: window, entries: QUOTA }.fill_all(&log, keys, &times[0]);
        Self {
            keys,
            textbook: Textbook::full(QUOTA as u32, window, keys, times[2].clone()),
            times,
            log: Box::new(log),
            governor_steady: Box::new(governor_steady),
            governor_full: Box::new(governor_full),
        }
    }

    fn enter(&self, state: State) {
        for time in &self.times {
            time.set_step(if state == State::Steady { STEP } else { 0 });
            if state == State::Steady {
                // Half of the keys have had an entry leave, as they will from here on.
                time.set_now(time.now() + self.keys * STEP);
            }
        }
    }

    fn measure(&mut self, state: State, arrivals: &Arrivals, plan: Plan) -> Measured {
        let (governor, answer) = match state {
            State::Full => (&mut self.governor_full, Some(Answer::Denied)),
            State::Steady => (&mut self.governor_steady, None),
        };
        let mut turns: [&mut dyn Contender; 3] = [self.log.as_mut(), governor.as_mut(), &mut self.textbook];
        in_turns(&mut turns, arrivals, plan, answer)
    }
}
