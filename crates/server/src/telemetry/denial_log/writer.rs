//! Writer of the denial log.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::line;
use super::line::DenialLine;
use super::{DenialLog, WriterPhase};
use crate::telemetry::log_writer::LogWriter;

const SECOND: Duration = Duration::from_secs(1);

/// Writer of the denial log.
pub(super) struct Writer {
    log: Arc<DenialLog>,
    /// Log writer, of whose queue denials use a part only.
    destination: Option<LogWriter>,
    /// Times of the lines of the last second.
    written: VecDeque<Instant>,
    /// Number of omissions that lines have reported.
    reported: u64,
}

/// Next step of the writer.
#[derive(PartialEq, Eq, Debug)]
enum WriterStep {
    Write {
        line: DenialLine,
        left_out: Option<u64>,
    },
    ReportLeftOut(u64),
    /// At most until then.
    Wait(Option<Instant>),
    End,
}

impl Writer {
    pub(super) fn new(log: Arc<DenialLog>, destination: Option<LogWriter>) -> Self {
        Self { log, destination, written: VecDeque::new(), reported: 0 }
    }

    pub(super) fn run(&mut self) {
        loop {
            // During shutdown too, which has a time limit of its own.
            self.destination.iter().for_each(LogWriter::wait_for_room);
            match self.next(Instant::now()) {
                WriterStep::Write { line, left_out } => line.write(left_out),
                WriterStep::ReportLeftOut(left_out) => line::write_left_out(left_out),
                WriterStep::Wait(until) => {
                    self.log.wait(until);
                    continue;
                }
                WriterStep::End => break,
            }
            // The second of a line begins when it is written.
            if let Some(last) = self.written.back_mut() {
                *last = Instant::now();
            }
        }
        self.log.queue.lock().phase = WriterPhase::Ended;
        self.log.changed.notify_all();
    }

    fn next(&mut self, now: Instant) -> WriterStep {
        let is_over = |at: &Instant| now.duration_since(*at) >= SECOND;
        let over = self.written.iter().take_while(|at| is_over(at)).count();
        self.written.drain(..over);
        self.log.return_slots(over);

        let mut queue = self.log.queue.lock();
        let (line, phase) = (queue.lines.pop_front(), queue.phase);
        drop(queue);
        if let Some(line) = line {
            self.written.push_back(now);
            self.log.lines.fetch_add(1, Ordering::Relaxed);
            return WriterStep::Write { line, left_out: self.unreported() };
        }
        if phase == WriterPhase::Ending {
            return self.unreported().map_or(WriterStep::End, WriterStep::ReportLeftOut);
        }
        // A report of its own only after a second without lines. Without a free slot there are
        // queued lines, which report it.
        if self.written.is_empty() && self.has_unreported() && self.log.take_slot() {
            self.written.push_back(now);
            return self.unreported().map_or(WriterStep::Wait(None), WriterStep::ReportLeftOut);
        }
        WriterStep::Wait(self.written.front().map(|at| *at + SECOND))
    }

    fn has_unreported(&self) -> bool {
        self.log.left_out() > self.reported
    }

    fn unreported(&mut self) -> Option<u64> {
        let left_out = self.log.left_out();
        let unreported = left_out - std::mem::replace(&mut self.reported, left_out);
        (unreported > 0).then_some(unreported)
    }
}

#[cfg(test)]
mod tests;
