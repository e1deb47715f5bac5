//! Opening logs: their format, and where each begins in time.

use std::ops::ControlFlow;

use super::detection;
use super::error::ReadError;
use super::format::{AccessLogFormat, FileFacts};
use super::line_batch::LineBatch;
use super::line_parser::LineParser;
use super::line_parser::field_map::NoTimeField;
use super::line_reader::{LineReader, LogEnd};
use super::logged_request::LoggedRequest;
use super::merge::LogMerge;
use super::options::{LogInput, ReadOptions};
use super::parsing;
use super::report::{ReadProgress, ReadReport};
use super::{MAX_REORDER_MS, input};

/// Longest part of a line in an error.
const MAX_EXCERPT_BYTES: usize = 120;

/// Opened access logs, whose formats are known.
pub struct AccessLogs<'o> {
    options: &'o ReadOptions,
    logs: Vec<OpenedLog>,
}

/// One input, before it is read.
pub(super) struct OpenedLog {
    pub(super) input: LogInput,
    pub(super) facts: Option<FileFacts>,
    /// Start of its first request; 0 if the first lines have none.
    pub(super) first_ms: u64,
    /// Its size, if it is a file.
    pub(super) size: Option<u64>,
    /// Parser and reader, where the input cannot be opened again.
    pub(super) stream: Option<LogStream>,
}

/// Reader and parser of an input.
pub(super) struct LogStream {
    pub(super) reader: LineReader,
    pub(super) parser: LineParser,
}

impl<'o> AccessLogs<'o> {
    /// Opens all inputs and detects their formats.
    pub fn open(options: &'o ReadOptions) -> Result<Self, ReadError> {
        if options.inputs.is_empty() {
            return Err(ReadError::NoInput);
        }
        if options.inputs.iter().filter(|input| **input == LogInput::Stdin).count() > 1 {
            return Err(ReadError::StdinTwice);
        }
        if options.reorder.as_millis() > u128::from(MAX_REORDER_MS) {
            return Err(ReadError::ReorderTooLong { ms: options.reorder.as_millis() });
        }
        let logs = options.inputs.iter().map(|input| OpenedLog::open(input, options));
        Ok(Self { options, logs: logs.collect::<Result<_, _>>()? })
    }

    /// Name and facts of every input, in their order. A file without a whole line has no facts.
    pub fn files(&self) -> impl Iterator<Item = (String, Option<&FileFacts>)> {
        self.logs.iter().map(|log| (log.input.name(), log.facts.as_ref()))
    }

    /// Calls `visit` for every request in order. It may stop early.
    pub fn read(
        self,
        progress: &dyn ReadProgress,
        mut visit: impl FnMut(&LoggedRequest<'_>) -> ControlFlow<()>,
    ) -> Result<ReadReport, ReadError> {
        let Self { options, logs } = self;
        let mut merge = LogMerge::new(&logs, options);
        std::thread::scope(|scope| {
            let (batches, recycled) = parsing::spawn(scope, logs, options);
            merge.run(&batches, &recycled, progress, &mut visit)
        })?;
        Ok(merge.into_report())
    }
}

impl OpenedLog {
    fn open(input: &LogInput, options: &ReadOptions) -> Result<Self, ReadError> {
        let opened = input::open(input);
        let opened = opened.map_err(|source| ReadError::Io { input: input.name(), source })?;
        let mut log =
            Self { input: input.clone(), facts: None, first_ms: 0, size: opened.size, stream: None };
        let Some(mut stream) = log.stream_from(LineReader::new(opened.bytes), options)? else {
            return Ok(log);
        };
        // A file without a whole line has no format, but what is there instead is counted.
        if let Ok(block) = stream.reader.next_block()
            && !block.lines.is_empty()
        {
            let mut facts = stream.parser.facts().clone();
            match first_start(block.lines, &mut stream.parser, options) {
                Some(first_ms) => log.first_ms = first_ms,
                // Lines that cannot be read do not show which attributes the others have.
                None => facts.missing_attributes.clear(),
            }
            log.facts = Some(facts);
        }
        if log.size.is_none() {
            // Neither the first lines nor the header of a CSV file were read yet.
            stream.reader.repeat();
            stream.parser.restart();
            log.stream = Some(stream);
        }
        Ok(log)
    }

    /// Reader and parser for an input, by its first lines. `None` if it has no lines.
    pub(super) fn stream_from(
        &self,
        mut reader: LineReader,
        options: &ReadOptions,
    ) -> Result<Option<LogStream>, ReadError> {
        let input = || self.input.name();
        let block = reader.next_block().map_err(|source| ReadError::Io { input: input(), source })?;
        let lines = block.lines;
        let is_unreadable = block.has_skipped || block.end == Some(LogEnd::Torn);
        let preset = self.facts.as_ref().map(|facts| facts.format).or(options.format);
        let format = match preset.or_else(|| detection::detect(lines, options)) {
            _ if lines.is_empty() && !is_unreadable => return Ok(None),
            // What was there instead of lines is counted; any format does.
            _ if lines.is_empty() => AccessLogFormat::NginxCombined,
            Some(format) => format,
            None => return Err(ReadError::UnknownFormat { input: input(), line: first_line(lines) }),
        };
        let no_time = |NoTimeField| ReadError::NoTime { input: input(), names: NoTimeField::names() };
        let parser = LineParser::new(format, lines, options).map_err(no_time)?;
        reader.repeat();
        Ok(Some(LogStream { reader, parser }))
    }
}

/// Start of the first request of some lines.
fn first_start(lines: &[u8], parser: &mut LineParser, options: &ReadOptions) -> Option<u64> {
    let mut batch = LineBatch::default();
    batch.restart(0, 1, options.needed.len());
    for line in lines.split(|byte| *byte == b'\n') {
        // What cannot be read is counted when the file is read.
        let _ = parser.parse(line.strip_suffix(b"\r").unwrap_or(line), &mut batch);
        if batch.len() > 0 {
            return Some(batch.start_ms(0));
        }
    }
    None
}

fn first_line(lines: &[u8]) -> String {
    let line = lines.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = &line[..line.len().min(MAX_EXCERPT_BYTES)];
    line.escape_ascii().to_string()
}
