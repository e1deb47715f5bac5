//! `slidegate health`: readiness of a server, for containers without another HTTP client.

use std::process::ExitCode;
use std::time::Duration;

use hyper::Method;

use slidegate_server::http_client::HttpUrl;

use crate::client::{ClientError, JsonClient, ServerResponse, TlsArgs};
use crate::{exit, stdout};

const TIMEOUT: Duration = Duration::from_secs(2);

/// Longest part of a response body that is printed.
const MAX_PRINTED_CHARS: usize = 200;

/// Check whether a server is ready.
///
/// Requests GET /readyz, which needs no token, and prints one line. A server is ready from its
/// start until its shutdown begins. It stays ready while its store is unavailable, because every
/// rule has an answer for that (on_store_error).
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate health
  slidegate health --server http://127.0.0.1:8090 || echo 'not ready'

Exit codes:
  0  ready
  1  not ready, or no response within 2 seconds
  2  invalid arguments")]
pub(crate) struct HealthArgs {
    /// URL of the server, or of its admin listener.
    #[arg(long, visible_alias = "url", value_name = "URL", env = "SLIDEGATE_SERVER")]
    #[arg(default_value = "http://127.0.0.1:8080")]
    server: HttpUrl,
    #[command(flatten)]
    tls: TlsArgs,
}

pub(crate) fn run(args: &HealthArgs) -> miette::Result<ExitCode> {
    let HealthArgs { server, tls } = args;
    let client = JsonClient::new(server, tls, None);
    let reason = match client.and_then(|client| client.send(Method::GET, "/readyz", None, TIMEOUT)) {
        Ok(response) if response.status.is_success() => {
            stdout::print(&format!("ready: {server}{}\n", line(&response)))?;
            return Ok(ExitCode::SUCCESS);
        }
        Ok(response) => format!("{}{}", response.status, line(&response)),
        Err(error @ ClientError::File(_)) => return Ok(error.report(server, "")),
        Err(error) => error.to_string(),
    };
    anstream::eprintln!("not ready: {server}: {reason}");
    Ok(ExitCode::from(exit::FAILED))
}

/// The body of a response in one line, after a space.
fn line(response: &ServerResponse) -> String {
    let text = String::from_utf8_lossy(&response.body);
    let line: String = text.chars().filter(|c| !c.is_control()).take(MAX_PRINTED_CHARS).collect();
    if line.is_empty() { line } else { format!(" {line}") }
}
