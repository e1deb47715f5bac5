//! Denial log: a line for every denial, up to a number of lines per second, without delaying
//! requests.
//!
//! A request appends its line to a bounded queue; a thread writes it. A line takes a slot when it
//! is queued and returns it a second after it was written, so that no second has more lines than
//! slots. A denial without a slot, or beyond the queue, is counted. The next line has the number of
//! those; if there is no next line, a line of its own has it.

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

/// Tracing target of the denial log.
pub(crate) const TARGET: &str = "slidegate::denial";
/// Maximum number of queued lines.
const MAX_QUEUED: usize = 1_024;
/// Time that shutdown waits for queued lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Denial log.
#[derive(Default, Debug)]
pub(crate) struct DenialLog {
    /// Detail that telemetry reports, and the count of denials without a line.
    interest: Arc<DenialInterest>,
    /// Free slots; negative after a reload that lowers their number.
    free: AtomicI64,
    per_second: AtomicU64,
    lines: AtomicU64,
    /// Denials left out here, besides those that `interest` counts.
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
    /// No thread writes.
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
    /// Log that writes nothing yet.
    pub(crate) fn new(interest: Arc<DenialInterest>) -> Self {
        interest.set(DenialDetail::Nothing);
        Self { interest, ..Self::default() }
    }

    /// Queues a denial. Never waits.
    #[inline]
    pub(crate) fn record(&self, denial: &Denial<'_>) {
        self.offer(|| DenialLine::of(denial));
    }

    #[inline]
    fn offer(&self, line: impl FnOnce() -> DenialLine) {
        if self.free.load(Ordering::Relaxed) > 0 {
            self.queue(line);
        } else if self.per_second.load(Ordering::Relaxed) > 0 {
            self.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[cold]
    fn queue(&self, line: impl FnOnce() -> DenialLine) {
        if self.take_slot() {
            let line = line();
            let mut queue = self.queue.lock();
            if queue.lines.len() < MAX_QUEUED {
                queue.lines.push_back(line);
                self.changed.notify_all();
                return;
            }
            drop(queue);
            self.return_slots(1);
        }
        self.left_out.fetch_add(1, Ordering::Relaxed);
    }

    fn take_slot(&self) -> bool {
        let less_one = |free: i64| (free > 0).then(|| free - 1);
        let previous = self.free.try_update(Ordering::SeqCst, Ordering::SeqCst, less_one);
        if previous == Ok(1) {
            self.update_interest();
        }
        previous.is_ok()
    }

    fn return_slots(&self, slots: usize) {
        if slots > 0 {
            self.free.fetch_add(i64::try_from(slots).unwrap_or(i64::MAX), Ordering::SeqCst);
            self.update_interest();
        }
    }

    /// Asks telemetry for denials while there are free slots. Checks again after a change, so that
    /// the last one wins.
    fn update_interest(&self) {
        loop {
            let free = self.free.load(Ordering::SeqCst);
            self.interest.set(match self.per_second.load(Ordering::SeqCst) {
                0 => DenialDetail::Nothing,
                _ if free > 0 => DenialDetail::Each,
                _ => DenialDetail::Number,
            });
            if self.free.load(Ordering::SeqCst) == free {
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
        self.free.fetch_add(more, Ordering::SeqCst);
        self.update_interest();
    }

    fn left_out(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed) + self.interest.counted()
    }

    pub(crate) fn stats(&self) -> DenialLogStats {
        DenialLogStats { lines: self.lines.load(Ordering::Relaxed), left_out: self.left_out() }
    }

    /// Waits for a line to write, at most until then.
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

/// Handle of the writing thread. Dropping it writes the queued lines, for a limited time.
pub(crate) struct DenialLogHandle(Arc<DenialLog>);

/// Starts to write denials. Does nothing if no subscriber takes such lines.
pub(crate) fn begin(
    log: &Arc<DenialLog>,
    writer: Option<LogWriter>,
    per_second: u32,
) -> Option<DenialLogHandle> {
    if !tracing::enabled!(target: TARGET, Level::INFO) {
        return None;
    }
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    let mut writer = Writer::new(Arc::clone(log), writer);
    let thread = std::thread::Builder::new().name("denial log".to_owned());
    let started = thread.spawn(move || tracing::dispatcher::with_default(&dispatch, || writer.run()));
    if let Err(error) = started {
        tracing::error!("denials are not logged: {error}");
        return None;
    }
    let mut queue = log.queue.lock();
    queue.phase = WriterPhase::On;
    log.allow(per_second);
    drop(queue);
    Some(DenialLogHandle(Arc::clone(log)))
}

impl Drop for DenialLogHandle {
    fn drop(&mut self) {
        let log = &self.0;
        let mut queue = log.queue.lock();
        queue.phase = WriterPhase::Ending;
        log.allow(0);
        log.changed.notify_all();
        log.changed.wait_while_for(&mut queue, |queue| queue.phase != WriterPhase::Ended, FLUSH_TIMEOUT);
    }
}
