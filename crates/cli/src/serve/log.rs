//! Log on stderr: levels, formats, and the writer that all lines go through.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::ValueEnum;
use slidegate_server::{LOG_TARGET, LogWriter};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// Log level.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// Log format.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum LogFormat {
    /// One line of text per event.
    Text,
    /// One JSON object per line.
    Json,
}

/// Longest time that the end of the program waits for queued lines.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// Handle of the log. Dropping it writes the queued lines, within a time limit.
pub(crate) struct LogHandle {
    pub(crate) writer: LogWriter,
    format: LogFormat,
}

/// Sends everything that is logged from now on, panics included, through one writer that never
/// blocks the caller.
pub(crate) fn start(level: LogLevel, format: LogFormat) -> io::Result<LogHandle> {
    let writer = LogWriter::start(io::stderr())?;
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // The level does not apply to the audit log.
    let targets = Targets::new()
        .with_default(level)
        // At debug level h2 logs every frame.
        .with_target("h2", level.min(LevelFilter::INFO))
        .with_target("slidegate::audit", LevelFilter::INFO)
        // Nor to reports of lost lines.
        .with_target(LOG_TARGET, LevelFilter::WARN);
    let line_writer = writer.clone();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(move || line_writer.clone())
        // Those would bypass the writer.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal() && !no_color && format == LogFormat::Text);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(targets)).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(target: LOG_TARGET, location, "panic: {message}");
    }));
    Ok(LogHandle { writer, format })
}

impl LogHandle {
    /// Logs a warning before the server starts.
    pub(crate) fn warn(&self, warning: &str) {
        match self.format {
            LogFormat::Text => self.writer.line(format!("warning: {warning}\n").as_bytes()),
            LogFormat::Json => tracing::warn!("{warning}"),
        }
    }
}

impl Drop for LogHandle {
    fn drop(&mut self) {
        self.writer.flush(FLUSH_TIMEOUT);
    }
}
