//! Writes the lines of the denial log, one after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::line;
use super::line::DenialLine;
use super::{DenialLog, Phase};
use crate::telemetry::log_writer::LogWriter;

const SECOND: Duration = Duration::from_secs(1);

pub(super) struct Writer {
    log: Arc<DenialLog>,
    /// Destination, where it has a queue of its own: denials wait for room in it and leave most of it to other lines.
    destination: Option<LogWriter>,
    /// When lines were written whose places are not given back yet.
    written: VecDeque<Instant>,
    /// Of those that were left out, how many were told.
    told: u64,
}

/// What is to be done.
#[derive(PartialEq, Eq, Debug)]
enum Next {
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
        Self { log, destination, written: VecDeque::new(), told: 0 }
    }

    pub(super) fn run(&mut self) {
        loop {
            // At the end, too: how long that may take is the business of whoever waits for it.
            self.destination.iter().for_each(LogWriter::wait_for_room);
            match self.next(Instant::now()) {
                Next::Write { line, left_out } => line.write(left_out),
                Next::TellLeftOut(left_out) => line::write_left_out(left_out),
                Next::Wait(until) => {
                    self.log.wait(until);
                    continue;
                }
                Next::End => break,
            }
            // Writing may have taken a while, and its second begins when it is done.
            if let Some(last) = self.written.back_mut() {
                *last = Instant::now();
            }
        }
        self.log.queue.lock().phase = Phase::Ended;
        self.log.changed.notify_all();
    }

    fn next(&mut self, now: Instant) -> Next {
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
            return Next::Write { line, left_out: self.untold() };
        }
        if phase == Phase::Ending {
            return self.untold().map_or(Next::End, Next::TellLeftOut);
        }
        // A line of its own only where none was written for a second. If others have all places their lines are on their way, and will tell.
        if self.written.is_empty() && self.has_untold() && self.log.take_place() {
            self.written.push_back(now);
            return self.untold().map_or(Next::Wait(None), Next::TellLeftOut);
        }
        Next::Wait(self.written.front().map(|at| *at + SECOND))
    }

    fn has_untold(&self) -> bool {
        self.log.left_out() > self.told
    }

    fn untold(&mut self) -> Option<u64> {
        let left_out = self.log.left_out();
        let untold = left_out - std::mem::replace(&mut self.told, left_out);
        (untold > 0).then_some(untold)
    }
}

#[cfg(test)]
mod tests;
