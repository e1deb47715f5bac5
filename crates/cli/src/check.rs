//! `slidegate check`: asks a running server whether a request may pass.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::client::{self, Answered, ClientError};
use crate::{exit, stdout};

mod attribute;
mod render;

pub(crate) use attribute::Attribute;
pub(crate) use render::problem;

/// How long an answer may take, beside what was asked to wait.
const PATIENCE: Duration = Duration::from_secs(10);

/// Ask a running server whether a request may pass, and charge it if so.
///
/// A request is a set of attributes. Those that rules know are method, path and ip; any other name may be used in `match` and
/// `key` of a policy too.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate check method=POST path=/login ip=203.0.113.7
  slidegate check path=/v1/search/books api_key=k1 --cost 5 || echo 'come back later'

Exit codes:
  0  allowed
  1  denied
  2  the request makes no sense, or the server refuses to answer it (its token, for instance)
  3  no answer: there is no server, or its store does not answer")]
pub(crate) struct Args {
    /// What the request is: name=value, as many as you like.
    #[arg(value_name = "ATTRIBUTE=VALUE")]
    attributes: Vec<Attribute>,
    /// Units that the request takes. 0 only looks.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cost: u64,
    /// Wait for its turn up to this long instead of being denied at once.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    wait: u64,
    /// Print the server's answer as it is: JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    of: client::Args,
}

pub(crate) fn run(args: &Args) -> miette::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| miette::miette!("no runtime could be started: {error}"))?;
    let deadline = PATIENCE.saturating_add(Duration::from_millis(args.wait));
    let client = match args.of.client() {
        Ok(client) => client,
        Err(error) => return Ok(unusable(&error)),
    };
    let asked = client.post("/v1/check", question(args).to_string());
    let answered = runtime.block_on(async { tokio::time::timeout(deadline, asked).await });
    match answered {
        Ok(Ok(answered)) => report(args, &answered),
        Ok(Err(error)) if !error.is_unreachable() => Ok(no_answer(args, &error.to_string())),
        Ok(Err(error)) => Ok(no_server(args, &error.to_string())),
        Err(_) => Ok(no_server(args, &format!("it said nothing for {} s", deadline.as_secs()))),
    }
}

fn question(args: &Args) -> Value {
    let attributes: Map<String, Value> =
        args.attributes.iter().map(|Attribute { name, value }| (name.clone(), json!(value))).collect();
    let mut question = json!({ "attributes": attributes, "cost": args.cost });
    if args.wait > 0 {
        question["wait_ms"] = json!(args.wait);
    }
    question
}

/// Prints the answer; what it ends with follows from it.
fn report(args: &Args, answered: &Answered) -> miette::Result<ExitCode> {
    let Some(answer) = answered.object() else {
        return Ok(no_answer(args, &format!("it answers {} and no JSON: is it Slidegate?", answered.status)));
    };
    let allowed = answer["allowed"].as_bool();
    if args.json {
        stdout::print(&format!("{}\n", answered.json()))?;
    } else if allowed.is_some() {
        stdout::print(&render::answer(&answer))?;
    } else {
        anstream::eprintln!("{}", render::problem(answered.status, &answer));
    }
    Ok(match allowed {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::from(exit::FAILED),
        None if answered.status.is_client_error() => ExitCode::from(exit::USAGE),
        None => ExitCode::from(exit::NO_ANSWER),
    })
}

/// The files that the arguments name are not what they should be.
fn unusable(error: &ClientError) -> ExitCode {
    anstream::eprintln!("{error}");
    ExitCode::from(exit::USAGE)
}

fn no_server(args: &Args, why: &str) -> ExitCode {
    let code = no_answer(args, why);
    anstream::eprintln!("Start one with `slidegate serve`, or say where it is with --server.");
    code
}

fn no_answer(args: &Args, why: &str) -> ExitCode {
    anstream::eprintln!("no answer from {}: {why}", args.of.server);
    ExitCode::from(exit::NO_ANSWER)
}
