//! Thread that parses: it reads the input that is furthest behind, a block at a time.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use super::error::ReadError;
use super::line_batch::{LineBatch, ParsedBatch};
use super::line_parser::LineParser;
use super::line_reader::{LineReader, LogEnd};
use super::opener::OpenedLog;
use super::options::ReadOptions;
use super::report::UnreadableReason;
use super::{MAX_LINE_BYTES, input};

/// Batches that may wait for the thread that visits.
const BATCHES_AHEAD: usize = 8;

/// Batches that may wait to be used again.
const BATCHES_RECYCLED: usize = 64;

/// Starts the thread. Batches arrive at the receiver; those that are done with go back by the sender.
pub(super) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    logs: Vec<OpenedLog>,
    options: &'env ReadOptions,
) -> (Receiver<ParsedBatch>, SyncSender<LineBatch>) {
    let (batches, parsed) = sync_channel(BATCHES_AHEAD);
    let (recycled, free) = sync_channel(BATCHES_RECYCLED);
    scope.spawn(move || run(logs, options, &batches, &free));
    (parsed, recycled)
}

/// Log that is parsed, and how far it is.
struct ParsedLog {
    log: OpenedLog,
    file: usize,
    /// Latest start that was parsed. Before that, the first one.
    reached_ms: u64,
    line: u64,
    bytes_read: u64,
}

fn run(
    logs: Vec<OpenedLog>,
    options: &ReadOptions,
    batches: &SyncSender<ParsedBatch>,
    free: &Receiver<LineBatch>,
) {
    let parsed = |(file, log): (usize, OpenedLog)| ParsedLog {
        reached_ms: log.first_ms,
        log,
        file,
        line: 1,
        bytes_read: 0,
    };
    let mut logs: Vec<ParsedLog> = logs.into_iter().enumerate().map(parsed).collect();
    while let Some(furthest_behind) = (0..logs.len()).min_by_key(|index| logs[*index].reached_ms) {
        let log = &mut logs[furthest_behind];
        let batch = log.next_batch(options, free.try_recv().unwrap_or_default());
        let is_last = batch.as_ref().is_ok_and(|batch| batch.is_last);
        if batches.send(batch).is_err() {
            // The visitor stopped, or failed.
            return;
        }
        if is_last {
            logs.remove(furthest_behind);
        }
    }
}

impl ParsedLog {
    fn next_batch(&mut self, options: &ReadOptions, mut batch: LineBatch) -> ParsedBatch {
        batch.restart(self.file, self.line, options.needed.len());
        let input = self.log.input.clone();
        let failed = |source| ReadError::Io { input: input.name(), source };
        if self.log.stream.is_none() {
            let opened = input::open(&input).map_err(failed)?;
            self.log.stream = self.log.stream_from(LineReader::new(opened.bytes), options)?;
        }
        let Some(stream) = &mut self.log.stream else {
            batch.is_last = true;
            return Ok(batch);
        };
        let block = stream.reader.next_block().map_err(failed)?;
        if block.has_skipped {
            batch.count_unreadable(UnreadableReason::TooLong);
            batch.lines_read += 1;
        }
        parse_lines(block.lines, &mut stream.parser, &mut batch);
        if block.end == Some(LogEnd::Torn) {
            batch.count_unreadable(UnreadableReason::Torn);
            batch.lines_read += 1;
        }
        batch.is_last = block.end.is_some();
        batch.complete();
        self.line = batch.next_line();
        let bytes_read = stream.reader.bytes_read();
        batch.bytes_read = bytes_read - self.bytes_read;
        self.bytes_read = bytes_read;
        let latest = (0..batch.len()).map(|index| batch.start_ms(index)).max();
        self.reached_ms = self.reached_ms.max(latest.unwrap_or(0));
        Ok(batch)
    }
}

#[inline]
fn parse_lines(lines: &[u8], parser: &mut LineParser, batch: &mut LineBatch) {
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', lines).chain((!lines.ends_with(b"\n")).then_some(lines.len())) {
        let line = &lines[from..end];
        from = end + 1;
        if end == lines.len() && line.is_empty() {
            break;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let parsed = if line.len() > MAX_LINE_BYTES {
            Err(UnreadableReason::TooLong)
        } else {
            parser.parse(line, batch)
        };
        if let Err(reason) = parsed {
            batch.count_unreadable(reason);
        }
        batch.lines_read += 1;
    }
}
