//! `slidegate import`: the configuration of another rate limiter as a policy.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use miette::{Report, miette};
use slidegate::Policy;

use crate::{exit, stdout};

mod attribute;
mod envoy;
mod fields;
mod limitador;
mod names;
mod policy_writer;
mod quote;
mod rlaas;
mod source;
mod tree;
mod warnings;

use policy_writer::{Windows, Written};
use source::Source;
use warnings::Warnings;

/// Turn the configuration of another rate limiter into a policy.
///
/// The policy goes to standard output, with comments that say where each rule comes from and what differs. What has no equal here
/// is told on standard error, each time with what to do.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate import envoy ratelimit.yaml > policy.yaml
  slidegate import limitador limits.yaml --sliding --output policy.yaml
  slidegate import rlaas application.yml --strict | slidegate validate -

Exit codes:
  0  a policy was written; there may be warnings
  1  the file is not right, or cannot be read, or the policy cannot be written; with --strict also if there were warnings
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// What the file is for.
    #[arg(value_enum)]
    system: System,
    /// The configuration; `-` reads it from standard input.
    file: PathBuf,
    /// Write the policy to this file instead.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write it even if there is such a file.
    #[arg(long, requires = "output")]
    force: bool,
    /// Let windows slide where they are fixed in the other system.
    #[arg(long)]
    sliding: bool,
    /// End with 1 if there is a warning.
    #[arg(long)]
    strict: bool,
}

/// Whose configuration can be read.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum System {
    /// RLAAS: `rate-limiter` in application.yml or application.properties.
    Rlaas,
    /// envoyproxy/ratelimit: a domain and its descriptors.
    Envoy,
    /// Limitador: a limits file.
    Limitador,
}

pub(crate) fn run(args: &Args) -> miette::Result<ExitCode> {
    let source = Source::read(&args.file)?;
    let windows = if args.sliding { Windows::Sliding } else { Windows::AsTheyAre };
    let mut warnings = Warnings::default();
    let written = match args.system {
        System::Rlaas => rlaas::convert(&source, windows, &mut warnings),
        System::Envoy => envoy::convert(&source, windows, &mut warnings),
        System::Limitador => limitador::convert(&source, windows, &mut warnings),
    }?;
    let policy = checked(&written)?;
    warnings.print(&source);
    match &args.output {
        Some(path) => save(path, &policy, args)?,
        None => stdout::print(&policy)?,
    }
    Ok(if args.strict && warnings.any() { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// The text, if it is a policy: nobody is given one that will not load.
fn checked(written: &Written) -> Result<String, Report> {
    let policy = written.to_string();
    match Policy::parse("the policy", &policy) {
        Ok(_) => Ok(policy),
        Err(errors) => Err(miette!(
            help = "split the file if it is too large; otherwise this is a fault of `slidegate import`: please report it",
            "what was made of the file is no policy: {errors}"
        )),
    }
}

fn save(path: &Path, policy: &str, args: &Args) -> Result<(), Report> {
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
            std::io::ErrorKind::AlreadyExists => "--force overwrites it",
            _ => "say another with --output, or leave it out to print the policy",
        };
        miette!(help = help, "{} cannot be written: {error}", path.display())
    })
}
