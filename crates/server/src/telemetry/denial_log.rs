//! The denial log: a line for every denial, of which no second has more than it may, and which no request waits for.
//!
//! A request only puts its line into a bounded queue; a thread writes it. A line takes a place when it is queued and gives it back a second
//! after it was written, so that there are never more lines than places in any second. What finds no place, or no room
//! in the queue, is counted, and the next line says how many those were; if there is none, a line of its own does.

mod line;
mod rfc3339;
mod writer;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use slidegate::telemetry::{Denial, DenialDetail, DenialInterest};
use tracing::Level;

use super::log_writer::LogWriter;
use line::DenialLine;
use writer::Writer;

/// Target of these lines.
pub(crate) const TARGET: &str = "slidegate::denial";
/// Maximum number of queued lines.
const MAX_QUEUED: usize = 1_024;
/// Time that shutdown waits for queued lines.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Default, Debug)]
pub(crate) struct DenialLog {
    /// Counter of denials while no line may be written.
    hearing: Arc<DenialInterest>,
    /// Places that nobody has. Fewer than none, where there were more before the last reload.
    left: AtomicI64,
    per_second: AtomicU64,
    lines: AtomicU64,
    /// Of those that were heard of.
    left_out: AtomicU64,
    queue: Mutex<DenialQueue>,
    changed: Condvar,
}

#[derive(Default, Debug)]
struct DenialQueue {
    lines: VecDeque<DenialLine>,
    phase: WriterPhase,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum WriterPhase {
    /// Nobody writes, or what is written is not kept.
    #[default]
    Off,
    On,
    Ending,
    Ended,
}

/// Counters of the denial log since startup.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DenialLogStats {
    /// Denials that have a line.
    pub lines: u64,
    /// Denials that were only counted.
    pub left_out: u64,
}

impl DenialLog {
    /// Writes nothing yet.
    pub(crate) fn new(hearing: Arc<DenialInterest>) -> Self {
        hearing.set(DenialDetail::Nothing);
        Self { hearing, ..Self::default() }
    }

    /// Queues a denial. Never waits.
    #[inline]
    pub(crate) fn note(&self, denial: &Denial<'_>) {
        self.offer(|| DenialLine::of(denial));
    }

    #[inline]
    fn offer(&self, line: impl FnOnce() -> DenialLine) {
        if self.left.load(Ordering::Relaxed) > 0 {
            self.queue(line);
        } else if self.per_second.load(Ordering::Relaxed) > 0 {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn queue(&self, line: impl FnOnce() -> DenialLine) {
        if self.take_place() {
            let line = line();
            let mut queue = self.queue.lock();
            if queue.lines.len() < MAX_QUEUED {
                queue.lines.push_back(line);
                self.changed.notify_all();
                return;
            }
            drop(queue);
            self.give_back(1);
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    fn take_place(&self) -> bool {
        let less_one = |left: i64| (left > 0).then(|| left - 1);
        let taken = self.left.try_update(Ordering::SeqCst, Ordering::SeqCst, less_one);
        if taken == Ok(1) {
            self.hear();
        }
        taken.is_ok()
    }

    fn give_back(&self, places: usize) {
        if places > 0 {
            self.left.fetch_add(i64::try_from(places).unwrap_or(i64::MAX), Ordering::SeqCst);
            self.hear();
        }
    }

    /// Asks for denials while there are places. Checks again after a change, so that the last one wins.
    fn hear(&self) {
        loop {
            let left = self.left.load(Ordering::SeqCst);
            self.hearing.set(match self.per_second.load(Ordering::SeqCst) {
                0 => DenialDetail::Nothing,
                _ if left > 0 => DenialDetail::Each,
                _ => DenialDetail::Number,
            });
            if self.left.load(Ordering::SeqCst) == left {
                return;
            }
        }
    }

    /// Sets the number of lines per second, if the log is on.
    pub(crate) fn set(&self, per_second: u32) {
        let queue = self.queue.lock();
        if queue.phase == WriterPhase::On {
            self.allow(per_second);
        }
    }

    fn allow(&self, per_second: u32) {
        let before = self.per_second.swap(per_second.into(), Ordering::SeqCst);
        let more = i64::from(per_second) - i64::try_from(before).unwrap_or(i64::MAX);
        self.left.fetch_add(more, Ordering::SeqCst);
        self.hear();
    }

    fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed) + self.hearing.counted()
    }

    pub(crate) fn stats(&self) -> DenialLogStats {
        DenialLogStats { lines: self.lines.load(Ordering::Relaxed), left_out: self.left_out() }
    }

    /// Waits for something to be written, at most until then.
    fn wait(&self, until: Option<Instant>) {
        let mut queue = self.queue.lock();
        if !queue.lines.is_empty() || queue.phase == WriterPhase::Ending {
            return;
        }
        match until {
            Some(until) => drop(self.changed.wait_until(&mut queue, until)),
            None => self.changed.wait(&mut queue),
        }
    }
}

/// Writer of the denial log. Dropping it writes the queued lines, for a limited time.
pub(crate) struct Writing(Arc<DenialLog>);

/// Begins to write denials. Does nothing if no subscriber takes such lines.
pub(crate) fn begin(log: &Arc<DenialLog>, writer: Option<LogWriter>, per_second: u32) -> Option<Writing> {
    if !tracing::enabled!(target: TARGET, Level::INFO) {
        return None;
    }
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    let mut writer = Writer::new(Arc::clone(log), writer);
    let thread = std::thread::Builder::new().name("denial log".to_owned());
    let begun = thread.spawn(move || tracing::dispatcher::with_default(&dispatch, || writer.run()));
    if let Err(error) = begun {
        tracing::error!("denials are not logged: {error}");
        return None;
    }
    let mut queue = log.queue.lock();
    queue.phase = WriterPhase::On;
    log.allow(per_second);
    drop(queue);
    Some(Writing(Arc::clone(log)))
}

impl Drop for Writing {
    fn drop(&mut self) {
        let log = &self.0;
        let mut queue = log.queue.lock();
        queue.phase = WriterPhase::Ending;
        log.allow(0);
        log.changed.notify_all();
        log.changed.wait_while_for(&mut queue, |queue| queue.phase != WriterPhase::Ended, PATIENCE);
    }
}
