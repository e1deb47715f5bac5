//! `slidegate health`: whether a server is ready, for containers that have no other program to ask with.

use std::process::ExitCode;
use std::time::Duration;

use crate::client::{Address, Answered, Client, Trust};
use crate::{exit, stdout};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// As much of an answer as fits on a line.
const SHOWN_CHARS: usize = 200;

/// Ask a server whether it is ready: one line, and 0 or 1.
///
/// It asks GET /readyz, which needs no token. A server is ready from its start until it is asked to end; while its store
/// does not answer it still is, since it then decides as each rule says.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate health
  slidegate health --server http://127.0.0.1:8090 || echo 'send it no more requests'

Exit codes:
  0  ready
  1  not ready, or no answer within 2 seconds
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// Where the server listens; its admin listener will do, too.
    #[arg(long, visible_alias = "url", value_name = "URL", env = "SLIDEGATE_SERVER")]
    #[arg(default_value = "http://127.0.0.1:8080")]
    server: Address,
    #[command(flatten)]
    trust: Trust,
}

pub(crate) fn run(args: &Args) -> miette::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| miette::miette!("no runtime could be started: {error}"))?;
    let client = match Client::new(&args.server, &args.trust) {
        Ok(client) => client,
        Err(error) => {
            anstream::eprintln!("{error}");
            return Ok(ExitCode::from(exit::USAGE));
        }
    };
    let asked = async { tokio::time::timeout(PATIENCE, client.get("/readyz")).await };
    let why = match runtime.block_on(asked) {
        Ok(Ok(answered)) if answered.status.is_success() => {
            stdout::print(&format!("ready: {}{}\n", args.server, said(&answered)))?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(Ok(answered)) => format!("{} answers {}{}", args.server, answered.status, said(&answered)),
        Ok(Err(error)) => format!("no answer from {}: {error}", args.server),
        Err(_) => format!("no answer from {} within {} s", args.server, PATIENCE.as_secs()),
    };
    anstream::eprintln!("not ready: {why}");
    Ok(ExitCode::from(exit::FAILED))
}

/// What the answer says, on the same line.
fn said(answered: &Answered) -> String {
    let text = String::from_utf8_lossy(&answered.body);
    let line: String = text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect();
    if line.is_empty() { line } else { format!(" {line}") }
}
