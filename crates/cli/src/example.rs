//! `slidegate example`: the built-in example policy, which `serve` uses without a file.

use std::process::ExitCode;

use crate::stdout;

/// Text of the example policy.
pub(crate) const POLICY: &str = include_str!("example.yaml");

/// Tests of the example policy.
const TESTS: &str = include_str!("example.test.yaml");

/// Print the built-in example policy.
///
/// Start your own policy with it: `slidegate example > policy.yaml`, edit it, `slidegate
/// validate policy.yaml`, `slidegate serve policy.yaml`.
#[derive(clap::Args, Debug)]
pub(crate) struct ExampleArgs {
    /// Print the tests of the example policy, for `slidegate test`.
    #[arg(long)]
    tests: bool,
}

pub(crate) fn run(args: &ExampleArgs) -> miette::Result<ExitCode> {
    stdout::print(if args.tests { TESTS } else { POLICY })?;
    Ok(ExitCode::SUCCESS)
}
