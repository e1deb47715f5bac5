//! Log on stderr: levels, formats, and the writer that all lines go through.

use std::io::{self, IsTerminal};
use std::time::Duration;

use clap::ValueEnum;
use slidegate_server::{LOG_TARGET, LogWriter};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// How much is told.
#[derive(Clone, Copy, ValueEnum, Debug)]
pub(crate) enum Level {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

/// How it is told.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Format {
    /// Lines for people.
    Text,
    /// An object in every line.
    Json,
}

/// How long the end of the program waits for lines that are still queued.
const PATIENCE: Duration = Duration::from_secs(1);

/// Log of the program. Dropping it writes what is queued, unless that takes too long.
pub(crate) struct Log {
    pub(crate) writer: LogWriter,
    format: Format,
}

/// Sends everything that is logged from now on, panics included, through one writer, which never holds up whoever logs.
pub(crate) fn start(level: Level, format: Format) -> io::Result<Log> {
    let writer = LogWriter::start(io::stderr())?;
    let level = match level {
        Level::Off => LevelFilter::OFF,
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
    };
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    // What operators change is told whatever is chosen.
    let told = Targets::new()
        .with_default(level)
        // It would tell of every frame.
        .with_target("h2", level.min(LevelFilter::INFO))
        .with_target("slidegate::audit", LevelFilter::INFO)
        // So is what of that was lost.
        .with_target(LOG_TARGET, LevelFilter::WARN);
    let of_lines = writer.clone();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(move || of_lines.clone())
        // Those would be written around the writer.
        .log_internal_errors(false)
        .with_ansi(io::stderr().is_terminal() && !no_color && format == Format::Text);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(told)).init();
    std::panic::set_hook(Box::new(|panic| {
        let location = panic.location().map(ToString::to_string);
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(target: LOG_TARGET, location, "panic: {message}");
    }));
    Ok(Log { writer, format })
}

impl Log {
    /// Warns of something before anything is served.
    pub(crate) fn warn(&self, warning: &str) {
        match self.format {
            Format::Text => self.writer.line(format!("warning: {warning}\n").as_bytes()),
            Format::Json => tracing::warn!("{warning}"),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.writer.flush(PATIENCE);
    }
}
