//! `slidegate schema`: the JSON Schema of the policy file.

use std::process::ExitCode;

use crate::stdout;

pub(crate) fn run() -> miette::Result<ExitCode> {
    stdout::print(&format!("{:#}\n", slidegate_server::config::schema::json()))?;
    Ok(ExitCode::SUCCESS)
}
