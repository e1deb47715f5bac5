//! Pauses of the machine, while its host ran another one: no process here caused such a wait.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::cores::CORES;

/// Interval of the check that a core runs.
const TICK: Duration = Duration::from_micros(250);
/// Delay from which a tick counts as a pause.
const LATE: Duration = Duration::from_micros(500);
/// Real-time priority, above all measured processes.
const PRIORITY: &str = "50";

type Intervals = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// A watcher on every core, which goes before everybody else there: what keeps it from running is
/// not of this machine.
#[derive(Debug)]
pub(super) struct Pauses {
    of_cores: Vec<Intervals>,
    over: Arc<AtomicBool>,
    watchers: Vec<JoinHandle<()>>,
}

impl Pauses {
    /// Begins to watch. Without the right to go before others nothing is watched, and what the host
    /// takes is counted as waiting.
    pub(super) fn watch() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let of_cores: Vec<Intervals> = CORES.iter().map(|_| Intervals::default()).collect();
        let watcher = |(core, intervals): (&&'static str, &Intervals)| {
            let (core, intervals, over) = (*core, Arc::clone(intervals), Arc::clone(&over));
            std::thread::spawn(move || {
                if goes_first(core) {
                    note(&intervals, &over);
                } else {
                    eprintln!(
                        "what the host takes away cannot be told: figures will be noisy (are you root?)"
                    );
                }
            })
        };
        let watchers = CORES.iter().zip(&of_cores).map(watcher).collect();
        Self { of_cores, over, watchers }
    }

    /// Length of the pauses between these times.
    pub(super) fn between(&self, from: Instant, to: Instant) -> Duration {
        let of_core = |intervals: &Intervals| -> Duration {
            let intervals = intervals.lock().expect("nobody fails with it");
            let recent = intervals.iter().rev().take_while(|(_, end)| *end > from);
            recent.map(|(start, end)| to.min(*end).saturating_duration_since(from.max(*start))).sum()
        };
        self.of_cores.iter().map(of_core).max().unwrap_or_default()
    }
}

impl Drop for Pauses {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for watcher in self.watchers.drain(..) {
            watcher.join().expect("a watcher does not fail");
        }
    }
}

fn note(intervals: &Mutex<Vec<(Instant, Instant)>>, over: &AtomicBool) {
    let mut due = Instant::now();
    while !over.load(Ordering::Relaxed) {
        due += TICK;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let now = Instant::now();
        if now.saturating_duration_since(due) > LATE {
            intervals.lock().expect("nobody fails with it").push((due, now));
            due = now;
        }
    }
}

/// Ties this thread to a core and puts it before all others there.
fn goes_first(core: &str) -> bool {
    let this = rustix::thread::gettid().as_raw_nonzero().to_string();
    let done = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        output.is_ok_and(|output| output.status.success())
    };
    done("taskset", &["--cpu-list", "--pid", core, &this])
        && done("chrt", &["--fifo", "--pid", PRIORITY, &this])
}
