//! `slidegate schema`: the JSON Schema of the policy file.

use std::process::ExitCode;

use crate::stdout;

pub(crate) fn run() -> miette::Result<ExitCode> {
    stdout::print(&format!("{:#}\n", slidegate::policy::schema::json()))?;
    Ok(ExitCode::SUCCESS)
}
