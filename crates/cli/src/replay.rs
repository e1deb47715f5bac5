//! `slidegate replay`: what a policy would have done with the requests of a log.

use std::fs::File;
use std::io::{self, BufWriter};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use miette::{Report, miette};
use slidegate::policy::format::Size;
use slidegate_tune::access_log::{AccessLogs, FileFacts};
use slidegate_tune::replay::{
    AlgorithmReplays, LimitedRequests, Replay, ReplayError, ReplayOptions, ReplayPolicy, ReplayReport,
    Threshold, VerdictFormat,
};

use crate::access_log_args::{AccessLogArgs, milliseconds_help};
use crate::flag_value::parse;
use crate::policy::{self, LoadedPolicy, PolicyDiagnostics};
use crate::{exit, stderr, stdout};

mod html;
pub(crate) mod progress;
pub(crate) mod render;

use progress::ProgressBar;

/// Replay an access log against a policy: who would have been limited, and by which rule.
///
/// Every request of the log is decided by the engine of the server, at the time at which it
/// started. Nothing is sent anywhere.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate replay access.log.gz --policy policy.yaml
  slidegate replay access.log --policy new.yaml --against old.yaml --html report.html
  slidegate replay access.log --policy policy.yaml --fail-if 'login.denied > 0.1%' --fail-if 'denied > 1000'
  slidegate replay requests.json --policy policy.yaml --attribute api_key=request.headers.X-Api-Key
  zcat access.log.*.gz | slidegate replay - --policy policy.yaml --as-enforced --json

Conditions of --fail-if are [RULE.]NUMBER, one of > >= < <=, and a count or a percentage:
  denied, would_deny, blocked     requests; percentages of requests
  touched                         subjects denied at least once; percentages of subjects
  newly_denied, newly_allowed     requests, with --against

Exit codes:
  0  success
  1  a condition of --fail-if holds, or a file cannot be written
  2  invalid arguments or policy, unreadable log, or a log without what the policy needs")]
pub(crate) struct ReplayArgs {
    /// Policy file; `-` reads standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "formats")]
    policy: Option<PathBuf>,
    /// Compare with this policy: which requests would be newly denied, or newly allowed.
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Treat rules in observe mode as enforced, in both policies.
    #[arg(long)]
    as_enforced: bool,
    /// Requests that the log shows as limited (status 429): decide them like others, or leave them
    /// out.
    #[arg(long, value_enum, default_value = "ask")]
    limited: Limited,
    /// Replay every rate limit under each algorithm as well: log, counter, fixed window, GCRA.
    #[arg(long)]
    algorithms: bool,
    /// Exit with code 1 if this holds, for example 'login.denied > 0.1%'. Repeatable.
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Write a line per request to this file: CSV if it ends in .csv, JSON lines otherwise.
    #[arg(long, value_name = "FILE")]
    verdicts: Option<PathBuf>,
    /// Write a report with charts to this HTML file. It is one file that loads nothing.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Subjects in the HTML report: networks and hashes instead of addresses and names, or as in the log.
    #[arg(long, value_enum, default_value = "masked", value_name = "STYLE")]
    subjects: SubjectArg,
    /// Bound on the memory of the states and counts.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse::<Size>)]
    max_memory: usize,
    #[command(flatten)]
    log: AccessLogArgs,
}

/// What becomes of requests that the log shows as limited.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Limited {
    /// Decide them like others.
    Ask,
    /// Leave them out.
    Skip,
}

/// Subjects in the HTML report.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum SubjectArg {
    /// IPv4 as /24, IPv6 as /48, everything else as a hash that holds for this report only.
    Masked,
    /// As in the log.
    Plain,
}

pub(crate) fn run(args: &ReplayArgs) -> miette::Result<ExitCode> {
    if args.log.formats {
        stdout::print(&AccessLogArgs::directives())?;
        return Ok(ExitCode::SUCCESS);
    }
    let bar = ProgressBar::start();
    let result = replay(args, &bar);
    bar.clear();
    let report = match result {
        Ok(report) => report,
        Err(ReplayFailure::Input(error)) => return Ok(usage(&error)),
        Err(ReplayFailure::Output(error)) => return Err(error),
    };
    if let Some(path) = &args.html {
        html::write(path, &report, &html::options(args, std::env::args_os().skip(1)))?;
    }
    if args.json {
        let text = serde_json::to_string(&report).map_err(|error| miette!("cannot write JSON: {error}"))?;
        stdout::print(&format!("{text}\n"))?;
    } else {
        stdout::print(&render::report(&report, &args.log.timezone, bar.elapsed()))?;
    }
    let failed: Vec<_> = report.thresholds.iter().filter(|threshold| threshold.holds).collect();
    for threshold in &failed {
        stderr::error(format!("{} (it is {})", threshold.condition, render::threshold_value(threshold)));
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
}

/// Failure of a replay.
enum ReplayFailure {
    /// The arguments, a policy or a log are invalid.
    Input(Report),
    /// The file for verdicts cannot be written.
    Output(Report),
}

impl From<Report> for ReplayFailure {
    fn from(error: Report) -> Self {
        Self::Input(error)
    }
}

/// Prints why nothing can be replayed.
fn usage(error: &Report) -> ExitCode {
    match error.downcast_ref::<PolicyDiagnostics>() {
        Some(diagnostics) => anstream::eprint!("{}", diagnostics.render()),
        None => anstream::eprintln!("{error:?}"),
    }
    ExitCode::from(exit::USAGE)
}

fn replay(args: &ReplayArgs, bar: &ProgressBar) -> Result<ReplayReport, ReplayFailure> {
    let options = options(args)?;
    let mut needed = options.policy.attributes();
    needed.extend(options.against.iter().flat_map(ReplayPolicy::attributes));
    needed.sort();
    needed.dedup();
    let read_options = args.log.options(needed);
    let logs = AccessLogs::open(&read_options).map_err(|error| miette!("{error}"))?;
    let files = logs.files().filter_map(|(name, facts)| Some((name, facts?.clone())));
    let files: Vec<(String, FileFacts)> = files.collect();
    let mut replay = Replay::new(options, &files).map_err(|error| with_help(&error))?;
    let path = args.verdicts.as_deref();
    let unwritten = |error: io::Error| {
        let name = path.map_or_else(|| "verdicts".into(), Path::to_string_lossy);
        ReplayFailure::Output(miette!("cannot write {name}: {error}"))
    };
    if let Some(path) = path {
        let is_csv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("csv"));
        let format = if is_csv { VerdictFormat::Csv } else { VerdictFormat::JsonLines };
        let out = BufWriter::new(File::create(path).map_err(unwritten)?);
        let names = logs.files().map(|(name, _)| name).collect();
        replay = replay.write_verdicts(Box::new(out), format, names).map_err(unwritten)?;
    }
    let mut failed = None;
    let read = logs.read(bar, |request| match replay.decide(request) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    if let Some(error) = failed {
        return Err(unwritten(error));
    }
    let read = read.map_err(|error| miette!("{error}"))?;
    read.check_readable().map_err(|error| miette!("{error}"))?;
    replay.finish(&read).map_err(unwritten)
}

fn options(args: &ReplayArgs) -> miette::Result<ReplayOptions> {
    let conditions = args.fail_if.iter().map(|text| text.parse::<Threshold>());
    let thresholds = conditions.collect::<Result<Vec<_>, _>>();
    let thresholds = thresholds.map_err(|error| miette!("invalid --fail-if: {error}"))?;
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    let inputs = args.policy.iter().chain(&args.against).chain(&args.log.logs);
    if inputs.filter(|path| is_stdin(path)).count() > 1 {
        return Err(miette!(help = "save one of them in a file", "standard input can be read only once"));
    }
    let load = |path: &Path| {
        let policy = load(path)?;
        Ok::<_, Report>(if args.as_enforced { policy.as_enforced() } else { policy })
    };
    Ok(ReplayOptions {
        policy: load(args.policy.as_deref().unwrap_or(Path::new("-")))?,
        against: args.against.as_deref().map(load).transpose()?,
        algorithms: if args.algorithms { AlgorithmReplays::All } else { AlgorithmReplays::Skip },
        limited: match args.limited {
            Limited::Ask => LimitedRequests::Ask,
            Limited::Skip => LimitedRequests::Skip,
        },
        thresholds,
        max_memory: args.max_memory,
    })
}

fn load(path: &Path) -> miette::Result<ReplayPolicy> {
    let LoadedPolicy { origin, text, .. } = policy::load(path)?;
    let name = origin.to_string();
    ReplayPolicy::parse(&name, &text).map_err(|errors| PolicyDiagnostics::new(&name, &errors).into())
}

fn with_help(error: &ReplayError) -> Report {
    match error {
        ReplayError::MissingAttribute(missing) => {
            let help = format!(
                "name the field that has it with --attribute {0}=FIELD, such as --attribute {0}=request.headers.X-Api-Key",
                missing.attribute
            );
            miette!(help = help, "{error}")
        }
        ReplayError::WindowUnderStamps { format, .. } => {
            let help = milliseconds_help(*format, "leave the limit out of the policy");
            miette!(help = help, "{error}")
        }
        _ => miette!("{error}"),
    }
}
