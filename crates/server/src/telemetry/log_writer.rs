//! Log writer: the one thread that writes log lines to stderr.
//!
//! To log is to append a line to a bounded queue. A destination that nobody reads (a full pipe, a
//! stopped terminal) therefore blocks this thread and no worker. Lines beyond the bound are dropped
//! and counted, and the log reports their number as soon as it moves again.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// Target of lines about the log itself.
pub const LOG_TARGET: &str = "slidegate::log";

/// Bound of the queue, the line that is being written included.
const MAX_BYTES: usize = 1 << 20;
/// Overhead of a queued line besides its text.
const LINE_OVERHEAD_BYTES: usize = 64;
/// Minimum time between two reports of dropped lines while others are queued.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Bounded, lossy log writer. Clones share one queue and one thread.
#[derive(Clone, Debug)]
pub struct LogWriter(Arc<Shared>);

/// Counts of log lines since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LogStats {
    /// Lines written to the destination.
    pub written: u64,
    /// Lines dropped because the queue was full.
    pub dropped: u64,
    /// Lines that the destination refused, as a closed pipe does.
    pub failed: u64,
}

#[derive(Default, Debug)]
struct Shared {
    queue: Mutex<LogQueue>,
    /// Signals every change of the queue.
    changed: Condvar,
    written: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

#[derive(Default, Debug)]
struct LogQueue {
    lines: VecDeque<Box<[u8]>>,
    /// Size of the queued lines and of the one that is being written.
    bytes: usize,
    /// Thread whose lines always fit: the writer's own report of what was dropped.
    writer: Option<ThreadId>,
}

impl LogWriter {
    /// Starts the thread, which writes to `destination` until the process ends.
    pub fn start(destination: impl Write + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || of_thread.run(destination))?;
        Ok(Self(shared))
    }

    /// Queues a line, or counts it as dropped. Never waits for the destination.
    pub fn line(&self, line: &[u8]) {
        self.0.push(line);
    }

    /// Waits until every queued line is written, at most for `patience`. `false` if some are left.
    pub fn flush(&self, patience: Duration) -> bool {
        let mut queue = self.0.queue.lock();
        !self.0.changed.wait_while_for(&mut queue, |queue| queue.bytes > 0, patience).timed_out()
    }

    /// Counts of lines since the start.
    pub fn stats(&self) -> LogStats {
        LogStats {
            written: self.0.written.load(Ordering::Relaxed),
            dropped: self.0.dropped.load(Ordering::Relaxed),
            failed: self.0.failed.load(Ordering::Relaxed),
        }
    }

    /// Waits until at most a quarter of the queue is in use: for logs with their own queue and
    /// thread, which leave the rest to other lines.
    pub(crate) fn wait_for_room(&self) {
        let mut queue = self.0.queue.lock();
        self.0.changed.wait_while(&mut queue, |queue| queue.bytes > MAX_BYTES / 4);
    }
}

/// Every call of `write` is one line: this is how `tracing_subscriber` writes an event.
impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn push(&self, line: &[u8]) {
        let bytes = line.len() + LINE_OVERHEAD_BYTES;
        let mut queue = self.queue.lock();
        if queue.bytes + bytes > MAX_BYTES && queue.writer != Some(thread::current().id()) {
            drop(queue);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        queue.bytes += bytes;
        queue.lines.push_back(line.into());
        self.changed.notify_all();
    }

    fn run(&self, mut destination: impl Write) {
        self.queue.lock().writer = Some(thread::current().id());
        let mut reports = Reports::default();
        loop {
            let line = self.next_line();
            let result = destination.write_all(&line).and_then(|()| destination.flush());
            let count = if result.is_ok() { &self.written } else { &self.failed };
            count.fetch_add(1, Ordering::Relaxed);
            if let Some(dropped) = reports.due(self.dropped.load(Ordering::Relaxed), self.is_empty()) {
                tracing::warn!(target: LOG_TARGET, dropped, "log lines were dropped: stderr is read too slowly");
            }
            self.finish(line.len());
        }
    }

    fn next_line(&self) -> Box<[u8]> {
        let mut queue = self.queue.lock();
        loop {
            if let Some(line) = queue.lines.pop_front() {
                return line;
            }
            self.changed.wait(&mut queue);
        }
    }

    fn is_empty(&self) -> bool {
        self.queue.lock().lines.is_empty()
    }

    /// Removes a line that was written from the size of the queue.
    fn finish(&self, line_bytes: usize) {
        self.queue.lock().bytes -= line_bytes + LINE_OVERHEAD_BYTES;
        self.changed.notify_all();
    }
}

/// Schedule of reports about dropped lines.
#[derive(Default)]
struct Reports {
    reported: u64,
    last: Option<Instant>,
}

impl Reports {
    /// Number of dropped lines to report now: after the last queued line, and at intervals before.
    fn due(&mut self, dropped: u64, is_empty: bool) -> Option<u64> {
        let is_recent = self.last.is_some_and(|last| last.elapsed() < REPORT_INTERVAL);
        if dropped == self.reported || (!is_empty && is_recent) {
            return None;
        }
        self.last = Some(Instant::now());
        Some(dropped - std::mem::replace(&mut self.reported, dropped))
    }
}

#[cfg(test)]
mod tests;
