//! `slidegate example`: the built-in example policy, which `serve` uses without a file.

use std::process::ExitCode;

use crate::stdout;

/// Text of the example policy.
pub(crate) const POLICY: &str = include_str!("example.yaml");

pub(crate) fn run() -> miette::Result<ExitCode> {
    stdout::print(POLICY)?;
    Ok(ExitCode::SUCCESS)
}
