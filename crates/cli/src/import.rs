//! `slidegate import`: converts the configuration of another rate limiter to a policy.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use miette::{Report, miette};
use slidegate::Policy;

use crate::policy_writer::PolicyDraft;
use crate::{exit, stdout};

mod attribute;
mod comments;
mod envoy;
mod fields;
mod limitador;
mod rlaas;
mod source;
mod warnings;

use source::SourceFile;
use warnings::Warnings;

/// Convert the configuration of another rate limiter to a policy.
///
/// Prints the policy on standard output, with comments that say where each rule comes from and what
/// differs. Whatever has no equivalent is a warning on standard error, with what to do about it.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate import envoy ratelimit.yaml > policy.yaml
  slidegate import limitador limits.yaml --sliding --output policy.yaml
  slidegate import rlaas application.yml --strict | slidegate validate -

Exit codes:
  0  success; there may be warnings
  1  the file is invalid or unreadable, or the policy cannot be written; with --strict, also if there are warnings
  2  invalid arguments")]
pub(crate) struct ImportArgs {
    /// Rate limiter that the file configures.
    #[arg(value_enum)]
    system: System,
    /// Configuration file; `-` reads standard input.
    file: PathBuf,
    /// Write the policy to this file.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Overwrite an existing output file.
    #[arg(long, requires = "output")]
    force: bool,
    /// Use sliding windows where the other system has fixed ones.
    #[arg(long)]
    sliding: bool,
    /// Exit with code 1 if there are warnings.
    #[arg(long)]
    strict: bool,
}

/// Supported systems.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum System {
    /// RLAAS: `rate-limiter` in application.yml or application.properties.
    Rlaas,
    /// envoyproxy/ratelimit: a domain and its descriptors.
    Envoy,
    /// Limitador: a limits file.
    Limitador,
}

/// Treatment of windows that are fixed in the other system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum WindowOption {
    Preserve,
    Sliding,
}

pub(crate) fn run(args: &ImportArgs) -> miette::Result<ExitCode> {
    let source = SourceFile::read(&args.file)?;
    let windows = if args.sliding { WindowOption::Sliding } else { WindowOption::Preserve };
    let mut warnings = Warnings::default();
    let draft = match args.system {
        System::Rlaas => rlaas::convert(&source, windows, &mut warnings),
        System::Envoy => envoy::convert(&source, windows, &mut warnings),
        System::Limitador => limitador::convert(&source, windows, &mut warnings),
    }?;
    let policy = validated(&draft)?;
    warnings.print(&source);
    match &args.output {
        Some(path) => save(path, &policy, args)?,
        None => stdout::print(&policy)?,
    }
    Ok(if args.strict && warnings.any() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// Text of the policy, which is guaranteed to load.
fn validated(draft: &PolicyDraft) -> Result<String, Report> {
    let policy = draft.to_string();
    match Policy::parse("the policy", &policy) {
        Ok(_) => Ok(policy),
        Err(errors) => Err(miette!(
            help = "split the file if it is too large; otherwise this is a bug in `slidegate import`: please report it",
            "the converted policy is invalid: {errors}"
        )),
    }
}

fn save(path: &Path, policy: &str, args: &ImportArgs) -> Result<(), Report> {
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let saved = options.open(path).and_then(|mut file| file.write_all(policy.as_bytes()));
    saved.map_err(|error| {
        let help = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "pass --force to overwrite it",
            _ => "choose another file with --output, or omit it to print the policy",
        };
        miette!(help = help, "cannot write {}: {error}", path.display())
    })
}
