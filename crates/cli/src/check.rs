//! `slidegate check`: checks one request with a running server.

use std::process::ExitCode;
use std::time::Duration;

use hyper::Method;
use serde_json::{Map, Value, json};

use crate::client::{JsonClient, ServerArgs, ServerResponse};
use crate::{exit, stderr, stdout};

mod attribute;
mod render;

pub(crate) use attribute::Attribute;
pub(crate) use render::problem;

/// Longest time for a response, besides the time of `--wait`.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Check a request against a running server's rules, and charge it if it is allowed.
///
/// A request is a set of attributes. `method`, `path` and `ip` have a meaning of their own; a
/// policy may use any other name in `match` and `key`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate check method=POST path=/login ip=203.0.113.7
  slidegate check path=/v1/search/books api_key=k1 --cost 5 || echo 'try again later'

Exit codes:
  0  allowed
  1  denied
  2  invalid arguments, or the server rejected the request (its token, for example)
  3  no response: there is no server, or its store is unavailable")]
pub(crate) struct CheckArgs {
    /// Attributes of the request.
    #[arg(value_name = "NAME=VALUE")]
    attributes: Vec<Attribute>,
    /// Units to charge. 0 peeks: it charges nothing.
    #[arg(long, value_name = "N", default_value_t = 1)]
    cost: u64,
    /// Wait up to this long for the request to fit, instead of denying it immediately.
    #[arg(long, value_name = "MS", default_value_t = 0)]
    wait: u64,
    /// Print the server's response as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(args: &CheckArgs) -> miette::Result<ExitCode> {
    let timeout = TIMEOUT.saturating_add(Duration::from_millis(args.wait));
    let send = |client: JsonClient| client.send(Method::POST, "/v1/check", Some(body(args)), timeout);
    match args.server.client().and_then(send).and_then(|response| Ok((response.object()?, response))) {
        Ok((decision, response)) => report(args, &decision, &response),
        Err(error) => {
            let hint = "start a server with `slidegate serve`, or pass its URL with --server";
            Ok(error.report(&args.server.server, hint))
        }
    }
}

fn body(args: &CheckArgs) -> String {
    let attributes: Map<String, Value> =
        args.attributes.iter().map(|Attribute { name, value }| (name.clone(), json!(value))).collect();
    let mut body = json!({ "attributes": attributes, "cost": args.cost });
    if args.wait > 0 {
        body["wait_ms"] = json!(args.wait);
    }
    body.to_string()
}

/// Prints the response; the exit code follows from it.
fn report(args: &CheckArgs, decision: &Value, response: &ServerResponse) -> miette::Result<ExitCode> {
    let allowed = decision["allowed"].as_bool();
    if args.json {
        stdout::print(&format!("{}\n", response.json()))?;
    } else if allowed.is_some() {
        stdout::print(&render::decision(decision, args.cost))?;
    } else {
        stderr::error(problem(response.status, decision));
    }
    Ok(match allowed {
        Some(true) => ExitCode::SUCCESS,
        Some(false) => ExitCode::from(exit::FAILED),
        None if response.status.is_client_error() => ExitCode::from(exit::USAGE),
        None => ExitCode::from(exit::NO_RESPONSE),
    })
}
