//! Files merged by time: the next line is that of the file that is furthest behind.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender};

use super::error::ReadError;
use super::format::TimeUnit;
use super::line_batch::{LineBatch, ParsedBatch};
use super::logged_request::LoggedRequest;
use super::opener::OpenedLog;
use super::options::ReadOptions;
use super::reorder::{NthInSecond, OrderedLines, ReorderWindow, WaitingLine};
use super::report::{FileReport, MAX_UNREADABLE_LISTED, ReadProgress, ReadReport};
use super::second_counts::SecondCounts;

const SECOND_MS: u64 = 1000;

/// Status of a request that was limited.
const LIMITED: u16 = 429;

/// Merge of all files, and the report of what was read.
pub(super) struct LogMerge<'o> {
    options: &'o ReadOptions,
    cursors: Vec<FileCursor>,
    window: ReorderWindow,
    store: BatchStore,
    /// Lines of each second, of files whose stamps are whole seconds.
    seconds: Vec<Option<SecondCounts>>,
    total_bytes: Option<u64>,
    bytes_read: u64,
    report: ReadReport,
}

/// How far a file was merged.
struct FileCursor {
    file: usize,
    /// Latest start of the lines merged, and of the next one. Before the first, its start.
    reached_ms: u64,
    /// Batches that arrived, of which the first is being merged.
    batches: VecDeque<StoredBatch>,
    /// Index of the next line in the first batch.
    next: usize,
    /// Whether the last batch arrived.
    is_complete: bool,
}

/// Place of a batch, and its lines.
#[derive(Clone, Copy)]
struct StoredBatch {
    place: u32,
    lines: usize,
}

impl<'o> LogMerge<'o> {
    pub(super) fn new(logs: &[OpenedLog], options: &'o ReadOptions) -> Self {
        let has_seconds =
            |log: &OpenedLog| log.facts.as_ref().is_some_and(|facts| facts.time_unit == TimeUnit::Second);
        let mut reorder_ms = options.reorder.as_millis() as u64;
        if logs.iter().any(has_seconds) {
            // The lines of a second are counted before they are spread over it.
            reorder_ms = reorder_ms.max(SECOND_MS);
        }
        let cursor = |(file, log): (usize, &OpenedLog)| FileCursor {
            file,
            reached_ms: log.first_ms,
            batches: VecDeque::new(),
            next: 0,
            is_complete: false,
        };
        let seconds = |log: &OpenedLog| {
            let facts = log.facts.as_ref().filter(|facts| facts.time_unit == TimeUnit::Second)?;
            Some(SecondCounts::new(reorder_ms, facts.time_meaning))
        };
        let file = |log: &OpenedLog| FileReport {
            name: log.input.name(),
            facts: log.facts.clone(),
            lines: 0,
            unreadable: 0,
            unreadable_lines: Vec::new(),
            bytes: 0,
        };
        Self {
            options,
            cursors: logs.iter().enumerate().map(cursor).collect(),
            window: ReorderWindow::new(reorder_ms, options.max_reordered_lines),
            store: BatchStore::default(),
            seconds: logs.iter().map(seconds).collect(),
            total_bytes: logs.iter().map(|log| log.size).sum(),
            bytes_read: 0,
            report: ReadReport { files: logs.iter().map(file).collect(), ..ReadReport::default() },
        }
    }

    pub(super) fn into_report(self) -> ReadReport {
        self.report
    }

    /// Merges all files, or until the visitor stops.
    pub(super) fn run(
        &mut self,
        batches: &Receiver<ParsedBatch>,
        recycled: &SyncSender<LineBatch>,
        progress: &dyn ReadProgress,
        visit: &mut impl FnMut(&LoggedRequest<'_>) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        while let Some(cursor) = self.furthest_behind() {
            match self.load(cursor) {
                NextLine::Ready => {}
                NextLine::None => {
                    self.cursors.remove(cursor);
                    continue;
                }
                NextLine::Awaited => {
                    // The thread that parses has ended, which it only does at the end or by a panic.
                    let Ok(batch) = batches.recv() else { return Ok(()) };
                    self.receive(batch?, recycled);
                    progress.bytes(self.bytes_read, self.total_bytes);
                    continue;
                }
            }
            if self.merge_batch(cursor, recycled, visit).is_break() {
                return Ok(());
            }
        }
        let mut sink = RequestSink {
            names: &self.options.needed,
            store: &mut self.store,
            seconds: &mut self.seconds,
            report: &mut self.report,
            recycled,
            visit,
        };
        // Whether the visitor stopped makes no difference at the end.
        let _ = self.window.finish(&mut sink);
        Ok(())
    }

    /// Index of the cursor that is furthest behind.
    fn furthest_behind(&self) -> Option<usize> {
        (0..self.cursors.len()).min_by_key(|index| self.cursors[*index].order())
    }

    /// Makes the next line of a cursor known.
    fn load(&mut self, cursor: usize) -> NextLine {
        let cursor = &mut self.cursors[cursor];
        while let Some(batch) = cursor.batches.front() {
            if cursor.next < batch.lines {
                let start_ms = self.store.batches[batch.place as usize].start_ms(cursor.next);
                cursor.reached_ms = cursor.reached_ms.max(start_ms);
                return NextLine::Ready;
            }
            cursor.batches.pop_front();
            cursor.next = 0;
        }
        if cursor.is_complete { NextLine::None } else { NextLine::Awaited }
    }

    /// Takes a batch that arrived.
    fn receive(&mut self, mut batch: LineBatch, recycled: &SyncSender<LineBatch>) {
        let report = &mut self.report.files[batch.file];
        report.lines += batch.lines_read;
        report.bytes += batch.bytes_read;
        report.unreadable += batch.unreadable;
        let listed = MAX_UNREADABLE_LISTED - report.unreadable_lines.len();
        report.unreadable_lines.extend(batch.unreadable_lines.drain(..).take(listed));
        self.bytes_read += batch.bytes_read;
        let Some(cursor) = self.cursors.iter_mut().find(|cursor| cursor.file == batch.file) else { return };
        cursor.is_complete = batch.is_last;
        if batch.len() == 0 {
            // A full channel drops it.
            let _ = recycled.try_send(batch);
        } else {
            cursor.batches.push_back(self.store.add(batch));
        }
    }

    /// Adds the lines of the first batch of a cursor to the window, as long as no other is further behind.
    fn merge_batch(
        &mut self,
        cursor: usize,
        recycled: &SyncSender<LineBatch>,
        visit: &mut impl FnMut(&LoggedRequest<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let others = self.cursors.iter().enumerate().filter(|(other, _)| *other != cursor);
        let limit = others.map(|(_, other)| other.order()).min().unwrap_or((u64::MAX, usize::MAX));
        let cursor = &mut self.cursors[cursor];
        let Some(&StoredBatch { place, lines }) = cursor.batches.front() else {
            return ControlFlow::Continue(());
        };
        let mut sink = RequestSink {
            names: &self.options.needed,
            store: &mut self.store,
            seconds: &mut self.seconds,
            report: &mut self.report,
            recycled,
            visit,
        };
        while cursor.next < lines {
            let batch = &sink.store.batches[place as usize];
            let start_ms = batch.start_ms(cursor.next);
            cursor.reached_ms = cursor.reached_ms.max(start_ms);
            if cursor.order() > limit {
                break;
            }
            self.window.advance(cursor.reached_ms, &mut sink)?;
            let nth = sink.count_in_second(cursor.file, place, cursor.next);
            let line = WaitingLine { batch: place, index: cursor.next as u32, nth };
            cursor.next += 1;
            self.window.add(start_ms, line, &mut sink)?;
        }
        ControlFlow::Continue(())
    }
}

impl FileCursor {
    /// What cursors are ordered by.
    fn order(&self) -> (u64, usize) {
        (self.reached_ms, self.file)
    }
}

/// What is known of the next line of a file.
enum NextLine {
    Ready,
    /// It is in a batch that did not arrive yet.
    Awaited,
    None,
}

/// Batches with lines that wait.
#[derive(Default)]
struct BatchStore {
    batches: Vec<LineBatch>,
    /// Lines of a batch that were not visited yet.
    remaining: Vec<usize>,
    free: Vec<u32>,
}

impl BatchStore {
    fn add(&mut self, batch: LineBatch) -> StoredBatch {
        let lines = batch.len();
        let place = match self.free.pop() {
            Some(place) => {
                self.batches[place as usize] = batch;
                self.remaining[place as usize] = lines;
                place
            }
            None => {
                self.batches.push(batch);
                self.remaining.push(lines);
                (self.batches.len() - 1) as u32
            }
        };
        StoredBatch { place, lines }
    }

    /// Counts a line of a batch as visited. Returns the batch after its last line.
    #[inline]
    fn visited(&mut self, place: u32) -> Option<LineBatch> {
        let remaining = &mut self.remaining[place as usize];
        *remaining -= 1;
        if *remaining > 0 {
            return None;
        }
        self.free.push(place);
        Some(std::mem::take(&mut self.batches[place as usize]))
    }
}

/// Lines that leave the window on their way to the visitor.
struct RequestSink<'m, V> {
    names: &'m [String],
    store: &'m mut BatchStore,
    seconds: &'m mut [Option<SecondCounts>],
    report: &'m mut ReadReport,
    recycled: &'m SyncSender<LineBatch>,
    visit: &'m mut V,
}

impl<V> RequestSink<'_, V> {
    /// Counts a line in its file's second, if stamps are whole seconds. How many came before it.
    #[inline]
    fn count_in_second(&mut self, file: usize, place: u32, index: usize) -> NthInSecond {
        let Some(seconds) = &mut self.seconds[file] else { return NthInSecond::SETTLED };
        let second = seconds.second_of(&self.store.batches[place as usize], index);
        NthInSecond::after(seconds.count(second))
    }
}

impl<V: FnMut(&LoggedRequest<'_>) -> ControlFlow<()>> OrderedLines for RequestSink<'_, V> {
    fn place(&self, line: &WaitingLine) -> (usize, u64) {
        let batch = &self.store.batches[line.batch as usize];
        (batch.file, batch.line(line.index as usize))
    }

    fn share_ms(&self, line: &WaitingLine, nth: u32) -> u64 {
        let batch = &self.store.batches[line.batch as usize];
        let Some(seconds) = &self.seconds[batch.file] else { return 0 };
        let second = seconds.second_of(batch, line.index as usize);
        SECOND_MS * u64::from(nth) / u64::from(seconds.lines_in(second).max(nth + 1))
    }

    #[inline]
    fn take(&mut self, line: &WaitingLine, start_ms: u64, late_ms: u64) -> ControlFlow<()> {
        let batch = &self.store.batches[line.batch as usize];
        let index = line.index as usize;
        let status = batch.status(index);
        let request = LoggedRequest {
            start_ms,
            duration_ms: batch.duration_ms(index),
            status,
            file: batch.file,
            line: batch.line(index),
            is_late: late_ms > 0,
            names: self.names,
            batch,
            index,
        };
        self.report.requests += 1;
        self.report.first_ms.get_or_insert(start_ms);
        self.report.last_ms = Some(start_ms);
        if status == Some(LIMITED) {
            self.report.limited += 1;
        }
        if late_ms > 0 {
            self.report.late.count += 1;
            self.report.late.most_ms = self.report.late.most_ms.max(late_ms);
        }
        let visited = (self.visit)(&request);
        if let Some(batch) = self.store.visited(line.batch) {
            // A full channel drops it.
            let _ = self.recycled.try_send(batch);
        }
        visited
    }
}
