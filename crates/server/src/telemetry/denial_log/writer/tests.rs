use slidegate::Source;
use slidegate::policy::HitMode;
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use super::*;
use crate::telemetry::denial_log::{DenialLogStats, MAX_QUEUED};

#[derive(Clone, Copy, Debug)]
enum LogEvent {
    Deny(u64),
    Pass(u64),
}

fn line() -> DenialLine {
    DenialLine {
        rule: "login".to_owned(),
        limit: Some("login-5/min".to_owned()),
        mode: HitMode::Enforce,
        subject: "ip=203.0.113.7".to_owned(),
        cost: 1,
        retry_after_ms: Some(1_000),
        retry_after_at_most_ms: None,
        reset_at_ms: Some(60_000),
        source: Source::Store,
        blocked: None,
        request_id: None,
    }
}

/// A log with a writer that is always there at once, in a time of its own.
struct Play {
    log: Arc<DenialLog>,
    writer: Writer,
    began: Instant,
    now_ms: u64,
    per_second: usize,
    /// Times of lines.
    lines_ms: Vec<u64>,
    reported: u64,
    /// When denials were left out, of those that were not reported.
    unreported_ms: VecDeque<u64>,
}

impl Play {
    fn new(per_second: u32) -> Self {
        let log = Arc::new(DenialLog::default());
        log.queue.lock().phase = WriterPhase::On;
        log.set(per_second);
        Self {
            writer: Writer::new(Arc::clone(&log), None),
            log,
            began: Instant::now(),
            now_ms: 0,
            per_second: per_second as usize,
            lines_ms: Vec::new(),
            reported: 0,
            unreported_ms: VecDeque::new(),
        }
    }

    fn now(&self) -> Instant {
        self.began + Duration::from_millis(self.now_ms)
    }

    fn deny(&mut self) {
        let before = self.log.stats().left_out;
        self.log.offer(line);
        self.unreported_ms.extend((before < self.log.stats().left_out).then_some(self.now_ms));
    }

    /// Writes what there is, and tells when to look again.
    fn write(&mut self) -> Result<Option<Instant>, String> {
        loop {
            let left_out = match self.writer.next(self.now()) {
                WriterStep::Write { left_out, .. } => left_out.unwrap_or(0),
                WriterStep::ReportLeftOut(left_out) => left_out,
                WriterStep::Wait(until) => return Ok(until),
                WriterStep::End => return Err("it ends".to_owned()),
            };
            self.reported += left_out;
            self.unreported_ms.drain(..left_out as usize);
            self.lines_ms.push(self.now_ms);
            let in_a_second = self.lines_ms.iter().rev().take_while(|at| self.now_ms - **at < 1_000);
            let lines = in_a_second.count();
            ensure!(lines <= self.per_second, "{lines} lines in the second before {}", self.now_ms);
        }
    }

    fn pass(&mut self, ms: u64) -> Result<(), String> {
        let end_ms = self.now_ms + ms;
        while let Some(until) = self.write()? {
            let until_ms = until.duration_since(self.began).as_millis() as u64;
            if until_ms > end_ms {
                break;
            }
            self.now_ms = until_ms;
            let late = self.unreported_ms.iter().find(|at| self.now_ms - **at > 1_000);
            ensure!(late.is_none(), "left out at {late:?}, and not reported at {}", self.now_ms);
        }
        self.now_ms = end_ms;
        self.write().map(drop)
    }
}

/// In no second more lines than allowed; every denial is written or left out; every one left out is
/// reported within a second.
#[test]
fn every_denial_is_reported_and_no_second_has_too_many_lines() {
    let generate = |rng: &Rng| {
        let step = |_| {
            if rng.one_in(2) {
                LogEvent::Deny(rng.magnitude(40))
            } else {
                LogEvent::Pass(rng.magnitude(3_000))
            }
        };
        (rng.between(1, 10) as u32, (0..rng.below(30)).map(step).collect())
    };
    prove(generate, |&per_second, steps| {
        let (mut play, mut denials) = (Play::new(per_second), 0);
        for step in steps {
            match *step {
                LogEvent::Deny(times) => {
                    denials += times;
                    (0..times).for_each(|_| play.deny());
                    play.write()?;
                }
                LogEvent::Pass(ms) => play.pass(ms)?,
            }
        }
        play.pass(1_000)?;
        let DenialLogStats { lines, left_out } = play.log.stats();
        ensure!(lines + left_out == denials, "{lines} and {left_out} of {denials}");
        ensure!(
            play.reported == left_out && play.unreported_ms.is_empty(),
            "{} of {left_out} reported",
            play.reported
        );
        ensure!(play.log.free.load(Ordering::Relaxed) <= i64::from(per_second), "too many places");
        Ok(())
    });
}

/// What nobody writes takes a bounded amount of memory, and gives its places back.
#[test]
fn a_writer_that_hangs_costs_a_queue() {
    let log = DenialLog::default();
    log.queue.lock().phase = WriterPhase::On;
    log.set(1_000_000);
    (0..3 * MAX_QUEUED).for_each(|_| log.offer(line));
    assert_eq!(log.queue.lock().lines.len(), MAX_QUEUED);
    assert_eq!(log.stats(), DenialLogStats { lines: 0, left_out: 2 * MAX_QUEUED as u64 });
    assert_eq!(log.free.load(Ordering::Relaxed), 1_000_000 - MAX_QUEUED as i64);
}

#[test]
fn it_may_be_set_while_it_runs() {
    let mut play = Play::new(2);
    (0..3).for_each(|_| play.deny());
    play.write().expect("in time");
    assert_eq!((play.lines_ms.len(), play.log.stats().left_out), (2, 1));
    // Fewer than have been written in this second.
    play.log.set(1);
    play.deny();
    assert_eq!(play.log.stats().left_out, 2);
    play.pass(1_000).expect("in time");
    assert_eq!((play.lines_ms.len(), play.reported), (3, 2), "the line that tells what was left out");
    play.log.set(0);
    play.deny();
    play.pass(5_000).expect("in time");
    assert_eq!((play.lines_ms.len(), play.log.stats().left_out), (3, 2), "off: nothing is left out either");
    play.log.set(5);
    play.deny();
    play.pass(0).expect("in time");
    assert_eq!(play.lines_ms.len(), 4);
}

/// Nothing is noted before somebody writes, or after.
#[test]
fn a_log_that_is_off_counts_nothing() {
    let log = DenialLog::default();
    log.set(100);
    log.offer(|| panic!("nobody asked for a line"));
    assert_eq!(log.stats(), DenialLogStats::default());
}
