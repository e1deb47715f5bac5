//! `slidegate validate`: checks a policy file and explains it.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::exit;
use crate::policy::{self, LoadedPolicy};
use crate::stdout;

mod render;

/// Check a policy file and explain what it does.
///
/// For every rule: the requests it matches and its key. For every limit: the maximum in any window,
/// the resolution of a log and how late it frees a slot, and the memory per key.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate validate policy.yaml
  slidegate example | slidegate validate - --json

Exit codes:
  0  the file is valid; there may be warnings
  1  the file is invalid: every error has its line, its column and a suggested fix
  2  invalid arguments")]
pub(crate) struct ValidateArgs {
    /// Policy file; `-` reads standard input.
    file: PathBuf,
    /// Print JSON, for errors too.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ValidateArgs) -> miette::Result<ExitCode> {
    match policy::load(&args.file) {
        Ok(LoadedPolicy { config, origin, .. }) => {
            let (warnings, rules) = (config.settings.warnings(), config.policy.explain());
            if args.json {
                print_line(&json!({ "valid": true, "warnings": warnings, "rules": rules }))?;
            } else {
                stdout::print(&render::policy(&origin.to_string(), &warnings, &rules))?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if args.json => {
            print_line(&json!({ "valid": false, "errors": policy::errors(&error) }))?;
            Ok(ExitCode::from(exit::FAILED))
        }
        Err(error) => Err(error),
    }
}

fn print_line(value: &Value) -> miette::Result<()> {
    stdout::print(&format!("{value}\n"))
}
