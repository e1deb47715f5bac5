//! What the program tells on stderr while it runs.

use std::io::IsTerminal;

use clap::ValueEnum;
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

pub(crate) fn start(level: Level, format: Format) {
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
        .with_target("slidegate::audit", LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && !no_color && format == Format::Text);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        Format::Text => lines.boxed(),
        Format::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(told)).init();
}

/// What is odd about a policy, before anything is served.
pub(crate) fn warn(format: Format, warning: &str) {
    match format {
        Format::Text => anstream::eprintln!("warning: {warning}"),
        Format::Json => tracing::warn!("{warning}"),
    }
}
