//! `slidegate admin`: administers a running server over its admin listener.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::Value;

use slidegate_server::http_client::HttpUrl;

use crate::client::{JsonClient, ServerResponse, TlsArgs};
use crate::{check, exit, stderr, stdout};

mod keys;
mod overrides;
mod render;
mod request;

const TIMEOUT: Duration = Duration::from_secs(10);

/// Administer a running server.
///
/// Connects to the server's admin listener: `server.admin` in the policy file, or `--admin` of
/// `slidegate serve`.
#[derive(clap::Args, Debug)]
#[command(arg_required_else_help = true)]
#[command(after_help = "\
Example:
  slidegate admin inspect ip=203.0.113.7
  slidegate admin reset --rule login ip=203.0.113.7
  slidegate admin override add --rule search --when api_key=k1 --limit 50/s --for 2h

Exit codes:
  0  success
  1  failure: no such key or override, the server is not ready, or its policy file is invalid
  2  invalid arguments, or the server rejected the request (its token, for example)
  3  no response: there is no server, or its store is unavailable")]
pub(crate) struct AdminArgs {
    #[command(subcommand)]
    command: AdminCommand,
}

#[derive(Subcommand, Debug)]
enum AdminCommand {
    /// Show the state of the server.
    Status(AdminServer),
    /// Show the usage of a key, without charging it.
    ///
    /// The attributes are those of a request. The output has every rule whose key they fill, with
    /// all of its limits.
    #[command(
        after_help = "Example:\n  slidegate admin inspect ip=203.0.113.7\n  slidegate admin inspect --rule all"
    )]
    Inspect(keys::KeyArgs),
    /// Reset a key: clear its usage, which unblocks it.
    ///
    /// Resets every limit of every rule whose key the attributes fill, on all servers that share
    /// the store.
    #[command(after_help = "Example:\n  slidegate admin reset --rule login ip=203.0.113.7")]
    Reset(keys::KeyArgs),
    #[command(subcommand)]
    Override(overrides::OverrideCommand),
    /// Show the active rules, including temporary overrides.
    Policy(AdminServer),
    /// Reload the policy file now.
    Reload(AdminServer),
    /// Check whether the server is ready for requests.
    Ready(AdminServer),
}

// A doc comment here would become the help text of the command.
#[derive(clap::Args, Debug)]
struct AdminServer {
    /// URL of the server's admin listener.
    #[arg(long, value_name = "URL", env = "SLIDEGATE_ADMIN_URL", default_value = "http://127.0.0.1:8090")]
    url: HttpUrl,
    /// Bearer token of the admin listener, if it requires one.
    #[arg(long, env = "SLIDEGATE_ADMIN_TOKEN", hide_env_values = true)]
    token: Option<String>,
    #[command(flatten)]
    tls: TlsArgs,
    /// Print the server's response as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &AdminArgs) -> miette::Result<ExitCode> {
    let (server, request) = args.command.request();
    let body = request.body.as_ref().map(ToString::to_string);
    let client = JsonClient::new(&server.url, &server.tls, server.token.as_deref());
    let response =
        client.and_then(|client| client.send(request.method.clone(), &request.path, body, TIMEOUT));
    match response.and_then(|response| Ok((response.object()?, response))) {
        Ok((object, response)) => report(server, &request, &object, &response),
        Err(error) => {
            let hint =
                "start a server with `slidegate serve --admin 127.0.0.1:8090`, or pass its URL with --url";
            Ok(error.report(&server.url, hint))
        }
    }
}

/// Prints the response; the exit code follows from it.
fn report(
    server: &AdminServer,
    request: &request::AdminRequest,
    object: &Value,
    response: &ServerResponse,
) -> miette::Result<ExitCode> {
    let status = response.status;
    if server.json {
        stdout::print(&format!("{}\n", response.json()))?;
    } else if status.is_success() {
        stdout::print(&(request.render)(object))?;
    } else {
        stderr::error(check::problem(status, object));
    }
    Ok(ExitCode::from(match status.as_u16() {
        _ if status.is_success() && request::is_without_subjects(object) => exit::FAILED,
        _ if status.is_success() => return Ok(ExitCode::SUCCESS),
        status if request.failures.contains(&status) => exit::FAILED,
        400..500 => exit::USAGE,
        _ => exit::NO_RESPONSE,
    }))
}
