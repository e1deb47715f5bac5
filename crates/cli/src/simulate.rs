//! `slidegate simulate`: what limits do under traffic that shows their differences.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Subcommand, ValueEnum};
use miette::miette;
use slidegate::policy::format::parse_duration;
use slidegate::{Limit, LimitError};
use slidegate_tune::simulate::{
    AlgorithmResult, HerdResult, HerdSettings, RETRY_RULES, RequestStream, Scenario, StreamError,
    herd_picture, simulate_algorithms, simulate_herd, stream_picture,
};

use crate::{exit, stdout};

mod render;

/// Simulate limits under traffic that shows their differences.
///
/// The engine of the server decides, in virtual time: a simulation takes no longer than its
/// arithmetic, and the same seed gives the same result.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate simulate adversary
  slidegate simulate edge-burst --quota 600 --window 1min --algorithm log,counter
  slidegate simulate herd --clients 10000 --json
  slidegate simulate adversary --algorithm log,counter --svg adversary.svg

Exit codes:
  0  success
  1  the file of --svg cannot be written
  2  invalid arguments")]
pub(crate) struct SimulateArgs {
    #[command(subcommand)]
    scenario: ScenarioCommand,
}

#[derive(Subcommand, Debug)]
enum ScenarioCommand {
    /// A quota of requests right before the edge of a fixed window, and another right after it.
    EdgeBurst(StreamArgs),
    /// Three times as many requests as are allowed, at random times.
    Overload(StreamArgs),
    /// A burst at the end of a window, then each request as early as the counter admits it.
    Adversary(StreamArgs),
    /// Clients that share a limit, send a request at the same time, and come again when refused.
    Herd(HerdArgs),
}

#[derive(clap::Args, Debug)]
struct StreamArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Algorithms, separated by commas.
    #[arg(
        long,
        value_name = "ALGORITHMS",
        value_enum,
        value_delimiter = ',',
        default_value = "log,counter,fixed,gcra"
    )]
    algorithm: Vec<AlgorithmName>,
}

#[derive(clap::Args, Debug)]
struct HerdArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// Number of clients.
    #[arg(long, value_name = "NUMBER", default_value = "2000", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    clients: u64,
}

#[derive(clap::Args, Debug)]
struct CommonArgs {
    /// Requests that the limit admits in a window.
    #[arg(long, value_name = "NUMBER", default_value = "100", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    quota: u64,
    /// Window of the limit.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    window: Duration,
    /// Seed of all random numbers.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Also write the result as a picture, with colours for light and dark.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Algorithm of a limit. GCRA has the quota as its burst.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum AlgorithmName {
    Log,
    Counter,
    Fixed,
    Gcra,
}

impl AlgorithmName {
    fn of(self, limit: Limit) -> Result<Limit, LimitError> {
        match self {
            Self::Log => Ok(limit),
            Self::Counter => limit.counter(),
            Self::Fixed => limit.fixed(),
            Self::Gcra => limit.gcra(limit.quota()),
        }
    }
}

/// Result of a simulation.
enum SimulationResult {
    Stream { scenario: Scenario, stream: RequestStream, results: Vec<AlgorithmResult> },
    Herd { settings: HerdSettings, results: Vec<HerdResult> },
}

pub(crate) fn run(args: &SimulateArgs) -> miette::Result<ExitCode> {
    let (common, result) = match &args.scenario {
        ScenarioCommand::EdgeBurst(args) => (&args.common, simulate_stream(Scenario::EdgeBurst, args)),
        ScenarioCommand::Overload(args) => (&args.common, simulate_stream(Scenario::Overload, args)),
        ScenarioCommand::Adversary(args) => (&args.common, simulate_stream(Scenario::Adversary, args)),
        ScenarioCommand::Herd(args) => (&args.common, herd(args)),
    };
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            anstream::eprintln!("{:?}", miette!("{error}"));
            return Ok(ExitCode::from(exit::USAGE));
        }
    };
    if let Some(path) = &common.svg {
        write_picture(path, &result)?;
    }
    stdout::print(&if common.json { format!("{}\n", render::json(&result)) } else { render::text(&result) })?;
    Ok(ExitCode::SUCCESS)
}

fn write_picture(path: &Path, result: &SimulationResult) -> miette::Result<()> {
    let picture = match result {
        SimulationResult::Stream { scenario, stream, results } => stream_picture(*scenario, stream, results),
        SimulationResult::Herd { settings, results } => herd_picture(settings, results),
    };
    std::fs::write(path, picture.svg()).map_err(|error| {
        miette!(help = "choose another file for --svg", "cannot write {}: {error}", path.display())
    })
}

fn simulate_stream(scenario: Scenario, args: &StreamArgs) -> Result<SimulationResult, StreamError> {
    let limit = Limit::new(args.common.quota, args.common.window)?;
    let mut limits: Vec<Limit> = Vec::new();
    for algorithm in &args.algorithm {
        let limit = algorithm.of(limit)?;
        if !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    let stream = RequestStream::new(scenario, limit, args.common.seed)?;
    let results = simulate_algorithms(&stream, &limits)?;
    Ok(SimulationResult::Stream { scenario, stream, results })
}

fn herd(args: &HerdArgs) -> Result<SimulationResult, StreamError> {
    let limit = Limit::new(args.common.quota, args.common.window)?;
    let settings = HerdSettings { limit, clients: args.clients, seed: args.common.seed };
    let results =
        RETRY_RULES.into_iter().map(|rule| simulate_herd(&settings, rule)).collect::<Result<_, _>>()?;
    Ok(SimulationResult::Herd { settings, results })
}
