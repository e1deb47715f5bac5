//! `slidegate serve`: the service.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use miette::{IntoDiagnostic, WrapErr, miette};
use slidegate_server::{App, Config, Listeners};

use crate::policy::{self, Loaded};
use crate::stdout;

mod banner;
mod flags;
mod listener;
mod log;
mod shutdown;
mod tries;

/// Serve a policy over HTTP.
///
/// Without a file it serves a built-in example from memory and says what to try. Flags go before variables, and variables
/// before the file. Ctrl-C and SIGTERM end it once the requests that are being answered have their answers.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate serve
  slidegate serve policy.yaml --http 0.0.0.0:8080 --redis redis://10.0.0.5:6379

Exit codes:
  0  it was asked to end
  1  the policy is not right, or it cannot listen
  2  the arguments make no sense")]
pub(crate) struct Args {
    /// The policy file; `-` reads it from standard input. Left out: the built-in example.
    #[arg(env = "SLIDEGATE_POLICY")]
    policy: Option<PathBuf>,
    /// How much is told on stderr.
    #[arg(long, value_name = "LEVEL", env = "SLIDEGATE_LOG", default_value = "warn")]
    log: log::Level,
    #[command(flatten)]
    flags: flags::Flags,
}

pub(crate) fn run(args: Args) -> miette::Result<ExitCode> {
    log::start(args.log);
    let mut loaded = match &args.policy {
        Some(path) => policy::load(path)?,
        None => policy::built_in()?,
    };
    args.flags.apply(&mut loaded.settings);
    for rule in loaded.policy.explain() {
        for warning in rule.warnings {
            anstream::eprintln!("warning: rule {}: {warning}", rule.name);
        }
    }
    // One worker for every core that it may use, which is what tokio counts.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.into_diagnostic().wrap_err("no runtime could be started")?;
    runtime.block_on(serve(loaded))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(loaded: Loaded) -> miette::Result<()> {
    let Loaded { policy, settings, origin } = loaded;
    let address = settings.server.http.value.expect("settings are complete");
    let http = listener::bind(address).await?;
    let address = http.local_addr().into_diagnostic()?;
    let banner = banner::text(address, &origin, policy.rules().len(), &settings);
    let app = App::new(Config { policy, settings }).map_err(|error| miette!("{error}"))?;
    // Before anybody can know that it is there.
    let shutdown = shutdown::asked().into_diagnostic().wrap_err("signals cannot be listened for")?;
    stdout::print(&banner)?;
    slidegate_server::run(Arc::new(app), Listeners { http }, shutdown).await;
    Ok(())
}
