//! `slidegate serve`: the service.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use miette::{IntoDiagnostic, WrapErr, miette};
use slidegate::policy::file::Spot;
use slidegate_server::{App, Config, Listeners};
use tokio::task::JoinHandle;

use banner::Addresses;
use listener::IfTaken;
use log::Log;

use crate::exit;
use crate::policy::{self, Loaded};
use crate::stdout;

mod banner;
pub(crate) mod demo;
mod flags;
mod listener;
mod log;
mod reload;
mod rlimit;
mod shutdown;
mod try_it;

/// Serve a policy over HTTP.
///
/// Without a file it serves a built-in example from memory and says what to try. Flags go before variables, and variables
/// before the file. A file that changes is read again, also on SIGHUP; one that is not right changes nothing. Ctrl-C and
/// SIGTERM end it once the requests that are being answered have their answers; a second one ends it at once.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate serve
  slidegate serve --demo
  slidegate serve policy.yaml --http 0.0.0.0:8080 --redis redis://10.0.0.5:6379

Exit codes:
  0    it was asked to end
  1    the policy is not right, it cannot listen, or what is in memory could not be saved at the end
  2    the arguments make no sense
  130  it was asked twice, and ended at once")]
pub(crate) struct Args {
    /// The policy file; `-` reads it from standard input. Left out: the built-in example.
    #[arg(env = "SLIDEGATE_POLICY")]
    policy: Option<PathBuf>,
    /// Serve rules of its own to a made-up population, so that the console at the admin listener has something to show.
    ///
    /// Takes other ports if 8080 and 8090 are taken. There is no policy file then.
    #[arg(long, env = "SLIDEGATE_DEMO", conflicts_with = "policy")]
    demo: bool,
    /// How much is told on stderr.
    #[arg(long, value_name = "LEVEL", env = "SLIDEGATE_LOG", default_value = "info")]
    log: log::Level,
    /// As lines for people, or as an object in every line.
    #[arg(long, value_name = "FORMAT", env = "SLIDEGATE_LOG_FORMAT", default_value = "text")]
    log_format: log::Format,
    #[command(flatten)]
    flags: flags::Flags,
}

pub(crate) fn run(args: Args) -> miette::Result<ExitCode> {
    let log = log::start(args.log, args.log_format);
    let log = log.into_diagnostic().wrap_err("the log could not be started")?;
    let mut loaded = match &args.policy {
        Some(path) => policy::load(path)?,
        None if args.demo => policy::demo()?,
        None => policy::built_in()?,
    };
    args.flags.apply(&mut loaded.settings);
    for warning in loaded.settings.warnings() {
        log.warn(&warning);
    }
    for rule in loaded.policy.explain() {
        for warning in rule.warnings {
            log.warn(&format!("rule {}: {warning}", rule.name));
        }
    }
    let open_files = rlimit::raise();
    // One worker for every core that it may use, which is what tokio counts.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.into_diagnostic().wrap_err("no runtime could be started")?;
    runtime.block_on(serve(loaded, args, &log, open_files))
}

async fn serve(loaded: Loaded, args: Args, log: &Log, open_files: Option<u64>) -> miette::Result<ExitCode> {
    let Loaded { policy, settings, origin, text } = loaded;
    let config = Config { policy, settings };
    // Before anything is bound: an address that must not be is not, not even for a moment.
    config.check().map_err(|error| miette!("{error}"))?;
    let Config { policy, settings } = &config;
    let address = settings.server.http.value.expect("settings are complete");
    let taken = |flag| if args.demo && !args.flags.names(flag) { IfTaken::AnyOther } else { IfTaken::Fail };
    let http = listener::bind(address, "--http", taken("--http"))?;
    let bind = |listen: Option<&Spot<SocketAddr>>, flag| {
        let address = listen.and_then(|listen| listen.value);
        address.map(|address| listener::bind(address, flag, taken(flag))).transpose()
    };
    let server = &settings.server;
    let grpc = bind(server.grpc.as_ref().map(|grpc| &grpc.listen), "--grpc")?;
    let resp = bind(server.resp.as_ref().map(|resp| &resp.listen), "--resp")?;
    let admin = bind(server.admin.as_ref().map(|admin| &admin.listen), "--admin")?;
    let listeners = Listeners { http, grpc, resp, admin };
    let addresses = Addresses::of(&listeners).into_diagnostic()?;
    let banner = banner::text(&addresses, &origin, policy.rules().len(), settings);
    let token = server.token.as_ref().and_then(|token| token.value.clone());
    let mut app = App::new(config).map_err(|error| miette!("{error}"))?.log_writer(log.writer.clone());
    if let Some(allowed) = open_files {
        app = app.open_files(allowed);
    }
    if let Some(address) = addresses.admin {
        app.bind_admin(address).map_err(|error| miette!("{error}"))?;
    }
    if let Some(source) = args.policy.and_then(|path| reload::source(path, &text, args.flags)) {
        app = app.source(source);
    }
    let app = Arc::new(app);
    // Before anybody can know that it is there.
    let shutdown =
        shutdown::asked(log.writer.clone()).into_diagnostic().wrap_err("signals cannot be listened for")?;
    reload::on_hangup(&app).into_diagnostic().wrap_err("signals cannot be listened for")?;
    stdout::print(&banner)?;
    let demo = args.demo.then(|| tokio::spawn(demo::run(addresses.http_from_here(), token)));
    let shutdown = async {
        shutdown.await;
        // Nobody else is kept waiting for those who do not exist.
        demo.inspect(JoinHandle::abort);
    };
    slidegate_server::run(Arc::clone(&app), listeners, shutdown).await;
    // It was told.
    let is_lost = app.snapshot_state().is_some_and(|state| state.last_error.is_some());
    Ok(if is_lost { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}
