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

pub(super) struct Writer {
    log: Arc<DenialLog>,
    /// Destination, where it has a queue of its own: denials wait for room in it and leave most of it to other lines.
    destination: Option<LogWriter>,
    /// Times of the lines of the last second.
    written: VecDeque<Instant>,
    /// Of those that were left out, how many were reported.
    reported: u64,
}

/// Next step of the writer.
#[derive(PartialEq, Eq, Debug)]
enum WriterStep {
    Write {
        line: DenialLine,
        left_out: Option<u64>,
    },
    TellLeftOut(u64),
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
            // At the end, too: how long that may take is the business of whoever waits for it.
            self.destination.iter().for_each(LogWriter::wait_for_room);
            match self.next(Instant::now()) {
                WriterStep::Write { line, left_out } => line.write(left_out),
                WriterStep::TellLeftOut(left_out) => line::write_left_out(left_out),
                WriterStep::Wait(until) => {
                    self.log.wait(until);
                    continue;
                }
                WriterStep::End => break,
            }
            // Writing may have taken a while, and its second begins when it is done.
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
        self.log.give_back(over);

        let mut queue = self.log.queue.lock();
        let (line, phase) = (queue.lines.pop_front(), queue.phase);
        drop(queue);
        if let Some(line) = line {
            self.written.push_back(now);
            self.log.lines.fetch_add(1, Ordering::Relaxed);
            return WriterStep::Write { line, left_out: self.unreported() };
        }
        if phase == WriterPhase::Ending {
            return self.unreported().map_or(WriterStep::End, WriterStep::TellLeftOut);
        }
        // A line of its own only where none was written for a second. If others have all places their lines are on their way, and will tell.
        if self.written.is_empty() && self.has_unreported() && self.log.take_place() {
            self.written.push_back(now);
            return self.unreported().map_or(WriterStep::Wait(None), WriterStep::TellLeftOut);
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
