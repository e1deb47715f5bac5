//! `slidegate admin`: looks after a running server, by its admin listener.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::Value;

use crate::client::{Address, Answered, Client, ClientError, Trust};
use crate::{exit, stdout};

mod keys;
mod overrides;
mod render;
mod request;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Look after a running server: unblock a key, set limits for a while, reload.
///
/// It speaks to the admin listener of the server: `admin` in its settings, or `--admin` of `slidegate serve`.
#[derive(clap::Args, Debug)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Example:
  slidegate admin look ip=203.0.113.7
  slidegate admin reset --rule login ip=203.0.113.7
  slidegate admin override add --rule search --when api_key=k1 --limit 50/s --for 2h

Exit codes:
  0  done
  1  not done: there is no such key or override, the server is not ready, or its policy file is not right
  2  the arguments make no sense, or the server refuses them (its token, for instance)
  3  no answer: there is no server, or its store does not answer")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Show how the server is doing.
    Status(Of),
    /// Show what is known of a key, without charging it.
    ///
    /// The attributes are those of a request: every rule is shown whose key they fill, with all of its windows.
    #[command(
        after_help = "Example:\n  slidegate admin look ip=203.0.113.7\n  slidegate admin look --rule all"
    )]
    Look(keys::Args),
    /// Forget what a key has used: unblock it.
    ///
    /// Every window of every rule is reset whose key the attributes fill, on all servers that share the store.
    #[command(after_help = "Example:\n  slidegate admin reset --rule login ip=203.0.113.7")]
    Reset(keys::Args),
    #[command(subcommand)]
    Override(overrides::Command),
    /// Show the rules that are in force, overrides included.
    Policy(Of),
    /// Read the policy file again, at once.
    Reload(Of),
    /// Ask whether requests should be sent to the server.
    Ready(Of),
}

// A comment for the documentation here would become that of the command.
#[derive(clap::Args, Debug)]
struct Of {
    /// Where the server's admin listener is.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_ADMIN_URL", default_value = "http://127.0.0.1:8090")]
    url: Address,
    /// The token of the admin listener, if it asks for one.
    #[arg(long, env = "SLIDEGATE_ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    #[command(flatten)]
    trust: Trust,
    /// Print the server's answer as it is.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> miette::Result<ExitCode> {
    let (of, ask) = args.command.ask();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| miette::miette!("no runtime could be started: {error}"))?;
    let client = match Client::new(&of.url, &of.trust) {
        Ok(client) => client.token(of.token.as_deref()),
        Err(error) => {
            anstream::eprintln!("{error}");
            return Ok(ExitCode::from(exit::USAGE));
        }
    };
    let body = ask.body.as_ref().map(Value::to_string);
    let asked = client.send(ask.method.clone(), &ask.path, body);
    match runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await }) {
        Ok(Ok(answered)) => report(of, &ask, &answered),
        Ok(Err(error)) => Ok(no_answer(of, &error)),
        Err(_) => {
            anstream::eprintln!("no answer from {} within {} s", of.url, PATIENCE.as_secs());
            Ok(ExitCode::from(exit::NO_ANSWER))
        }
    }
}

/// Prints the answer; what it ends with follows from it.
fn report(of: &Of, ask: &request::Ask, answered: &Answered) -> miette::Result<ExitCode> {
    let Some(answer) = answered.object() else {
        let status = answered.status;
        anstream::eprintln!(
            "{} answers {status} and no JSON: is it the admin listener of Slidegate?",
            of.url
        );
        return Ok(ExitCode::from(exit::NO_ANSWER));
    };
    let done = answered.status.is_success();
    if of.json {
        stdout::print(&format!("{}\n", answered.json()))?;
    } else if done {
        stdout::print(&(ask.show)(&answer))?;
    } else {
        anstream::eprintln!("{}", crate::check::problem(answered.status, &answer));
    }
    Ok(ExitCode::from(match answered.status.as_u16() {
        _ if done && request::found_nothing(&answer) => exit::FAILED,
        _ if done => return Ok(ExitCode::SUCCESS),
        status if ask.fails_with.contains(&status) => exit::FAILED,
        400..500 => exit::USAGE,
        _ => exit::NO_ANSWER,
    }))
}

fn no_answer(of: &Of, error: &ClientError) -> ExitCode {
    anstream::eprintln!("no answer from {}: {error}", of.url);
    if error.is_unreachable() {
        anstream::eprintln!(
            "Give a server an admin listener with `slidegate serve --admin 127.0.0.1:8090`, or say where it is with --url."
        );
    }
    ExitCode::from(exit::NO_ANSWER)
}
