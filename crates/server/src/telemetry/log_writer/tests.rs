//! Tests of the log writer with a destination that can be stopped.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

const PATIENCE: Duration = Duration::from_secs(10);

/// Destination that takes one line for every permission, and passes on what it took.
struct Gated {
    permissions: Receiver<io::Result<()>>,
    written: Sender<Vec<u8>>,
}

impl Write for Gated {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.permissions.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        let _reader_is_gone = self.written.send(line.to_vec());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn gated() -> (LogWriter, Sender<io::Result<()>>, Receiver<Vec<u8>>) {
    let (permit, permissions) = channel();
    let (written, lines) = channel();
    let writer = LogWriter::start(Gated { permissions, written }).expect("a thread");
    (writer, permit, lines)
}

#[test]
fn lines_keep_their_order_and_flush_waits_for_them() {
    let (writer, permit, lines) = gated();
    for n in 0..100 {
        writer.line(format!("{n}\n").as_bytes());
        permit.send(Ok(())).expect("the thread runs");
    }
    assert!(writer.flush(PATIENCE));
    let expected: Vec<Vec<u8>> = (0..100).map(|n| format!("{n}\n").into_bytes()).collect();
    assert_eq!(lines.try_iter().collect::<Vec<_>>(), expected);
    assert_eq!(writer.stats(), LogStats { written: 100, dropped: 0, failed: 0 });
}

#[test]
fn a_destination_that_nobody_reads_costs_lines_and_no_time() {
    let (writer, permit, _lines) = gated();
    let line = vec![b'x'; 1_000];
    let fitting = MAX_BYTES / (line.len() + LINE_OVERHEAD_BYTES);
    for _ in 0..fitting + 500 {
        writer.line(&line);
    }
    assert_eq!(writer.stats(), LogStats { written: 0, dropped: 500, failed: 0 });
    assert!(writer.0.queue.lock().bytes <= MAX_BYTES);
    assert!(!writer.flush(Duration::ZERO));
    let waiting = thread::spawn({
        let writer = writer.clone();
        move || writer.wait_for_room()
    });
    (0..fitting).for_each(|_| permit.send(Ok(())).expect("the thread runs"));
    assert!(writer.flush(PATIENCE));
    waiting.join().expect("there is room");
    assert_eq!(writer.stats().written, fitting as u64);
    writer.line(b"fits again");
    assert_eq!(writer.stats().dropped, 500);
}

#[test]
fn a_line_above_the_bound_is_dropped() {
    let (writer, ..) = gated();
    writer.line(&vec![b'x'; MAX_BYTES]);
    assert_eq!(writer.stats().dropped, 1);
}

#[test]
fn a_closed_destination_is_counted() {
    let (writer, permit, lines) = gated();
    drop(permit);
    writer.line(b"nobody is there");
    assert!(writer.flush(PATIENCE));
    assert_eq!(writer.stats(), LogStats { written: 0, dropped: 0, failed: 1 });
    assert_eq!(lines.try_iter().count(), 0);
}

#[test]
fn drops_are_reported_when_the_queue_is_empty_and_seldom_before() {
    let mut reports = Reports::default();
    assert_eq!(reports.due(0, true), None);
    assert_eq!(reports.due(5, false), Some(5), "the first at once");
    assert_eq!(reports.due(7, false), None, "right after another");
    assert_eq!(reports.due(9, true), Some(4), "nothing follows that could report it");
    assert_eq!(reports.due(9, true), None);
}
