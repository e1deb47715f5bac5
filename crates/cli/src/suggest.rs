//! `slidegate suggest`: limits for the traffic of a log, as a policy in observe mode.

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use miette::{Report, miette};
use slidegate::policy::file::Percent;
use slidegate::policy::format::{Size, parse_duration};
use slidegate::{Limit, Policy};
use slidegate_tune::access_log::{AccessLogs, FileFacts, ReadReport, TimeUnit};
use slidegate_tune::peak::StartPrecision;
use slidegate_tune::replay::Precision;
use slidegate_tune::suggest::{Margin, SuggestSettings, Suggester, Suggestion, attributes};

use crate::access_log_args::{AccessLogArgs, milliseconds_help};
use crate::flag_value::parse;
use crate::replay::progress::ProgressBar;
use crate::{exit, stderr, stdout};

mod json;
mod rules;

/// Percentages have two decimals.
const PPM_PER_PERCENT_UNIT: u32 = 100;
/// Least memory that is of any use.
const MIN_MEMORY: usize = 16 << 20;
/// Maximum number of routes with a rule of their own.
const MAX_ROUTES: u64 = 1_000;

/// Suggest limits for the traffic of an access log.
///
/// Prints a policy with a rule for every route, in observe mode: it counts and reports, and denies
/// nothing. Quotas are the lowest that touch at most a small share of the clients, and a margin on
/// top. Comments have the numbers that they follow from.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate suggest access.log.gz > policy.yaml
  slidegate suggest access.log --key api_key --attribute api_key=request.headers.X-Api-Key
  slidegate suggest access.log --window 1s,1min,1h --touch 0.01% --exact
  slidegate suggest access.log --routes 0 --capacity 500/s
  slidegate suggest access.log > policy.yaml && slidegate replay access.log --policy policy.yaml

Exit codes:
  0  success
  2  invalid arguments, unreadable log, or a log without what the suggestion needs")]
pub(crate) struct SuggestArgs {
    /// Attributes that identify a client, separated by commas. `api_key|ip` is the first that a
    /// request has.
    #[arg(long, value_name = "ATTRIBUTES", default_value = "ip", value_delimiter = ',', value_parser = key_part)]
    key: Vec<String>,
    /// Windows of the limits, separated by commas.
    #[arg(long, value_name = "WINDOWS", default_value = "1s,1min", value_delimiter = ',', value_parser = window)]
    window: Vec<Duration>,
    /// Share of the clients of a route that its limits may touch: deny at least one request.
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = share)]
    touch: Percent,
    /// Margin on every quota, which is then rounded up to two digits.
    #[arg(long, value_name = "SHARE", default_value = "20%", value_parser = headroom)]
    headroom: u64,
    /// Print the quotas without a margin, and without rounding.
    #[arg(long, conflicts_with = "headroom")]
    exact: bool,
    /// Number of routes with a rule of their own; the others share one. 0: one rule for all requests.
    #[arg(long, value_name = "NUMBER", default_value = "200", value_parser = clap::value_parser!(u64).range(..=MAX_ROUTES))]
    routes: u64,
    /// What the service can take in all: adds a rule for all clients together, at 85 % of it.
    #[arg(long, value_name = "LIMIT")]
    capacity: Option<Limit>,
    /// Bound on the memory of the counts. Beyond it, only a sample of the clients is counted.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = memory)]
    max_memory: usize,
    /// Print JSON, with the policy as text.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    log: AccessLogArgs,
}

/// Suggestion with what it was made from.
pub(super) struct LogSuggestion<'a> {
    pub(super) args: &'a SuggestArgs,
    pub(super) suggestion: Suggestion,
    pub(super) read: ReadReport,
    pub(super) precision: Precision,
}

pub(crate) fn run(args: &SuggestArgs) -> miette::Result<ExitCode> {
    if args.log.formats {
        stdout::print(&AccessLogArgs::directives())?;
        return Ok(ExitCode::SUCCESS);
    }
    let bar = ProgressBar::start();
    let suggested = suggest(args, &bar);
    bar.clear();
    let suggested = match suggested {
        Ok(suggested) => suggested,
        Err(error) => {
            anstream::eprintln!("{error:?}");
            return Ok(ExitCode::from(exit::USAGE));
        }
    };
    for warning in rules::warnings(&suggested) {
        stderr::warning(warning);
    }
    let policy = validated(&suggested)?;
    if args.json {
        stdout::print(&format!("{}\n", json::report(&suggested, &policy)))?;
    } else {
        stdout::print(&policy)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn suggest<'a>(args: &'a SuggestArgs, bar: &ProgressBar) -> miette::Result<LogSuggestion<'a>> {
    let mut needed: Vec<String> = attributes(&args.key).map(str::to_owned).collect();
    needed.sort();
    needed.dedup();
    let options = args.log.options(needed);
    let logs = AccessLogs::open(&options).map_err(|error| miette!("{error}"))?;
    let files = logs.files().filter_map(|(name, facts)| Some((name, facts?.clone())));
    let files: Vec<(String, FileFacts)> = files.collect();
    let facts = || files.iter().map(|(_, facts)| facts);
    let (starts, precision) = (StartPrecision::of(facts()), Precision::of(facts()));
    check(args, &files)?;
    let settings = SuggestSettings {
        key: args.key.clone(),
        windows: args.window.clone(),
        precision: starts,
        touched_ppm: args.touch.0 * PPM_PER_PERCENT_UNIT,
        margin: if args.exact { Margin::Exact } else { Margin::Headroom { percent: args.headroom } },
        max_routes: args.routes as usize,
        max_bytes: args.max_memory,
        capacity: args.capacity,
    };
    let mut suggester = Suggester::new(settings).map_err(|error| miette!("{error}"))?;
    let mut failed = None;
    let read = logs.read(bar, |request| {
        match suggester.push(request.start_ms, request.status, request.to_request()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = failed {
        return Err(miette!("{error}"));
    }
    let read = read.map_err(|error| miette!("{error}"))?;
    read.check_readable().map_err(|error| miette!("{error}"))?;
    let suggestion = suggester.finish().map_err(|error| miette!("{error}"))?;
    Ok(LogSuggestion { args, suggestion, read, precision })
}

/// Checks that the logs have what the suggestion needs.
fn check(args: &SuggestArgs, files: &[(String, FileFacts)]) -> Result<(), Report> {
    for (file, facts) in files {
        for part in &args.key {
            let mut alternatives = part.split('|').map(str::trim);
            let is_missing = |name: &str| facts.missing_attributes.iter().any(|missing| missing == name);
            if alternatives.clone().all(is_missing) {
                let first = alternatives.next().unwrap_or_default();
                return Err(miette!(
                    help = "name the field that has it with --attribute {first}=FIELD, such as --attribute {first}=request.headers.X-Api-Key",
                    "the key needs the attribute `{first}`, which no field of {file} gives"
                ));
            }
        }
        let windows = args.capacity.iter().map(|limit| Duration::from_millis(limit.window_ms()));
        let shortest = args.window.iter().copied().chain(windows).min();
        if facts.time_unit == TimeUnit::Second
            && let Some(window) = shortest.filter(|window| *window < Duration::from_secs(1))
        {
            return Err(miette!(
                help = milliseconds_help(facts.format, "choose windows of a second or more"),
                "{} has whole seconds, which say nothing about a window of {} ms",
                file,
                window.as_millis()
            ));
        }
    }
    Ok(())
}

/// Text of the policy, which is guaranteed to load.
fn validated(suggested: &LogSuggestion<'_>) -> Result<String, Report> {
    let policy = rules::policy(suggested).to_string();
    match Policy::parse("the policy", &policy) {
        Ok(_) => Ok(policy),
        Err(errors) => Err(miette!(
            help = "pass fewer --routes; if that does not help, this is a bug in `slidegate suggest`: please report it",
            "the suggested policy is invalid: {errors}"
        )),
    }
}

fn key_part(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("write the name of an attribute, as in `ip` or `api_key|ip`".to_owned()),
        part => Ok(part.to_owned()),
    }
}

fn window(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("the shortest window is 1ms".to_owned()),
        window => Ok(window),
    }
}

fn share(text: &str) -> Result<Percent, String> {
    match parse::<Percent>(text)? {
        Percent(10_000) => {
            Err("limits that touch every client suggest nothing: the maximum is 99.99%".to_owned())
        }
        share => Ok(share),
    }
}

fn headroom(text: &str) -> Result<u64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    percent.filter(|percent| *percent <= 1_000).ok_or_else(|| "write 0% to 1000%, as in `20%`".to_owned())
}

fn memory(text: &str) -> Result<usize, String> {
    match parse::<Size>(text)? {
        bytes @ MIN_MEMORY.. => Ok(bytes),
        _ => Err("the minimum is 16MiB".to_owned()),
    }
}
