//! `slidegate serve`: the server process.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use miette::{IntoDiagnostic, WrapErr, miette};
use slidegate_server::{Config, Listeners, Runtime};
use tokio::task::JoinHandle;

use banner::BoundAddresses;
use listener::WhenPortInUse;
use log::LogHandle;

use crate::exit;
use crate::policy::{self, LoadedPolicy};
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

/// Run the server.
///
/// Without a policy file it serves a built-in example, with its state in memory, and prints
/// commands to try. Precedence: flags, environment, file. The server reloads the file when it
/// changes and on SIGHUP; an invalid file changes nothing. On Ctrl-C or SIGTERM it answers the open
/// requests and stops; a second signal stops it immediately.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  slidegate serve
  slidegate serve --demo
  slidegate serve policy.yaml --http 0.0.0.0:8080 --redis redis://10.0.0.5:6379

Exit codes:
  0    stopped by a signal
  1    invalid policy, an address is not available, or the last snapshot could not be saved
  2    invalid arguments
  130  stopped immediately by a second signal")]
pub(crate) struct ServeArgs {
    /// Policy file; `-` reads standard input [default: a built-in example].
    #[arg(env = "SLIDEGATE_POLICY")]
    policy: Option<PathBuf>,
    /// Run a demo policy with simulated traffic.
    ///
    /// The console on the admin listener shows the traffic. If port 8080 or 8090 is in use, the
    /// demo picks another.
    #[arg(long, env = "SLIDEGATE_DEMO", conflicts_with = "policy")]
    demo: bool,
    /// Log level.
    #[arg(long, value_name = "LEVEL", env = "SLIDEGATE_LOG", default_value = "info")]
    log: log::LogLevel,
    /// Log format.
    #[arg(long, value_name = "FORMAT", env = "SLIDEGATE_LOG_FORMAT", default_value = "text")]
    log_format: log::LogFormat,
    #[command(flatten)]
    flags: flags::Flags,
}

pub(crate) fn run(args: ServeArgs) -> miette::Result<ExitCode> {
    let log = log::start(args.log, args.log_format);
    let log = log.into_diagnostic().wrap_err("cannot start the log writer")?;
    let mut loaded = match &args.policy {
        Some(path) => policy::load(path)?,
        None if args.demo => policy::demo()?,
        None => policy::example()?,
    };
    args.flags.apply(&mut loaded.config.settings);
    for warning in loaded.config.settings.warnings() {
        log.warn(&warning);
    }
    for rule in loaded.config.policy.explain() {
        for warning in rule.warnings {
            log.warn(&format!("rule {}: {warning}", rule.name));
        }
    }
    let open_files = rlimit::raise();
    // One worker for every core that the process may use, which is tokio's default.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.into_diagnostic().wrap_err("cannot start the runtime")?;
    runtime.block_on(serve(loaded, args, &log, open_files))
}

async fn serve(
    loaded: LoadedPolicy,
    args: ServeArgs,
    log: &LogHandle,
    open_files: Option<u64>,
) -> miette::Result<ExitCode> {
    let LoadedPolicy { config, origin, text } = loaded;
    // Before anything is bound: a forbidden address is not bound even for a moment.
    config.check().map_err(|error| miette!("{error}"))?;
    let Config { policy, settings } = &config;
    let in_use = |flag| {
        let any = args.demo && !args.flags.sets(flag);
        if any { WhenPortInUse::PickAnother } else { WhenPortInUse::Fail }
    };
    let http = listener::bind(settings.server.http, "--http", in_use("--http"))?;
    let bind = |address: Option<SocketAddr>, flag| {
        address.map(|address| listener::bind(address, flag, in_use(flag))).transpose()
    };
    let server = &settings.server;
    let grpc = bind(server.grpc.as_ref().map(|grpc| grpc.listen), "--grpc")?;
    let resp = bind(server.resp.as_ref().map(|resp| resp.listen), "--resp")?;
    let admin = bind(server.admin.as_ref().map(|admin| admin.listen), "--admin")?;
    let listeners = Listeners { http, grpc, resp, admin };
    let addresses = BoundAddresses::of(&listeners).into_diagnostic()?;
    let banner = banner::text(&addresses, &origin, policy.rules().len(), settings);
    let token = server.token.as_ref().map(|token| token.to_string());
    let mut runtime =
        Runtime::new(config).map_err(|error| miette!("{error}"))?.log_writer(log.writer.clone());
    if let Some(allowed) = open_files {
        runtime = runtime.open_files(allowed);
    }
    if let Some(address) = addresses.admin {
        runtime.bind_admin(address).map_err(|error| miette!("{error}"))?;
    }
    if let Some(source) = args.policy.and_then(|path| reload::source(path, &text, args.flags)) {
        runtime = runtime.with_source(source);
    }
    let runtime = Arc::new(runtime);
    // Before the banner, since a reader of the banner may send signals at once.
    let shutdown =
        shutdown::signal(log.writer.clone()).into_diagnostic().wrap_err("cannot listen for signals")?;
    reload::on_hangup(&runtime).into_diagnostic().wrap_err("cannot listen for signals")?;
    stdout::print(&banner)?;
    let demo = args.demo.then(|| tokio::spawn(demo::run(addresses.http_from_loopback(), token)));
    let shutdown = async {
        shutdown.await;
        // The simulated clients must not delay the shutdown.
        demo.inspect(JoinHandle::abort);
    };
    slidegate_server::run(Arc::clone(&runtime), listeners, shutdown).await;
    // The error itself is in the log.
    let is_snapshot_lost = runtime.snapshot_state().is_some_and(|state| state.last_error.is_some());
    Ok(if is_snapshot_lost { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}
