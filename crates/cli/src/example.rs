//! The policy of a server that was given none, and `slidegate example`.

use std::process::ExitCode;

use crate::stdout;

/// Its text, as it is printed.
pub(crate) const POLICY: &str = include_str!("example.yaml");

pub(crate) fn run() -> miette::Result<ExitCode> {
    stdout::print(POLICY)?;
    Ok(ExitCode::SUCCESS)
}
