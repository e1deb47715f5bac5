//! `slidegate validate`: what a policy will do.

use std::path::PathBuf;
use std::process::ExitCode;

use miette::Report;
use serde_json::{Value, json};
use slidegate::policy::PolicyError;

use crate::exit;
use crate::policy::{self, Broken, Loaded};
use crate::stdout;

mod render;

/// Check a policy file and print what it will do.
///
/// For every rule: which requests it is for and what tells clients apart; for every limit: the most that any window can see, how
/// finely a log keeps time and how late it may free a slot, and the memory that a key takes at most.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate validate policy.yaml
  slidegate example | slidegate validate - --json

Exit codes:
  0  the file is right; there may be warnings
  1  it is not: every error is told with its line, its column and what would be right
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// The policy file; `-` reads it from standard input.
    file: PathBuf,
    /// Print JSON, also of errors.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> miette::Result<ExitCode> {
    match policy::load(&args.file) {
        Ok(loaded) if args.json => {
            let warnings = loaded.settings.warnings();
            print_line(&json!({ "valid": true, "warnings": warnings, "rules": loaded.policy.explain() }))?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Loaded { policy, settings, origin, .. }) => {
            stdout::print(&render::policy(&origin.to_string(), &settings.warnings(), &policy.explain()))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(error) if args.json => {
            print_line(&json!({ "valid": false, "errors": errors(&error) }))?;
            Ok(ExitCode::from(exit::FAILED))
        }
        Err(error) => Err(error),
    }
}

fn print_line(value: &Value) -> miette::Result<()> {
    stdout::print(&format!("{value}\n"))
}

/// What is wrong, for programs. A file that cannot be read has no place.
fn errors(report: &Report) -> Vec<Value> {
    let Some(broken) = report.downcast_ref::<Broken>() else {
        return vec![json!({ "what": report.to_string() })];
    };
    let value = |error: &PolicyError| json!({ "line": error.line, "column": error.column, "what": error.what, "remedy": error.remedy });
    broken.errors().map(value).collect()
}
