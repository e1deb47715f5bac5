//! Errors and warnings on standard error.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Prints an error in one line.
pub(crate) fn error(message: impl Display) {
    anstream::eprintln!("{ERROR}error:{ERROR:#} {message}");
}

/// Prints a warning in one line.
pub(crate) fn warning(message: impl Display) {
    anstream::eprintln!("{WARNING}warning:{WARNING:#} {message}");
}

/// Prints what to do about the error before.
pub(crate) fn help(message: &str) {
    anstream::eprintln!("help: {message}");
}
