//! Slidegate as a service: a policy behind HTTP.
//!
//! [`App`] is what decides; [`run`] serves it on listeners that are already bound, until it is told to stop.
//!
//! # Layout
//!
//! | module | contains |
//! |---|---|
//! | `config` | the settings of the service in complete types; `listener`, and `exposure` of the admin listener |
//! | `net` | `accept` loop, `connections` (admission, time-outs, turns, pace), `tls`, `byte_budget` |
//! | `protocols` | transports `http`, `grpc` and `resp`; the HTTP API `rest`; Envoy's service `rls`; what they share: `auth`, `health`, `problem`, `request_id`, `json` |
//! | `runtime` | what decides for all protocols, and what changes it: `backend` (the store), `reload`, `overrides`, `snapshot`, `file_watch`, `metrics` |
//! | `telemetry` | formats and writers: `metrics`, `otlp`, `denial_log`, `audit`, `log_writer`, `auth_failures` |
//! | `admin` | the admin listener: a module per route, the `console`, and its `events` |
//!
//! A protocol only translates bytes; it neither decides nor counts.

mod admin;
mod config;
mod net;
mod protocols;
mod runtime;
mod telemetry;

use std::future::Future;
use std::sync::Arc;

use slidegate::Clock;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch as told};
use tokio::task::JoinSet;
use tokio::time::sleep;

pub use config::{Config, ConfigError};
pub use net::connections::ConnectionStats;
pub use net::tls::{TlsError, TlsState};
pub use runtime::app::App;
pub use runtime::backend::Backend;
pub use runtime::overrides::{NewOverride, Override, OverrideError};
pub use runtime::reload::{PolicySource, ReloadError, ReloadState, Reloaded};
pub use runtime::snapshot::{Restored, SnapshotStartError, SnapshotState};
pub use telemetry::denial_log::DenialLogStats;
pub use telemetry::log_writer::{LOG_TARGET, LogStats, LogWriter};
#[cfg(feature = "otlp")]
pub use telemetry::otlp::OtlpError;

use crate::admin::events;
use crate::config::listener::Door;
use crate::net::{accept, tls};
use crate::runtime::{overrides, reload, snapshot};
use crate::telemetry::{audit, denial_log, otlp};

/// Where the service is reached.
#[derive(Debug)]
pub struct Listeners {
    /// Checks and forward-auth over HTTP.
    pub http: TcpListener,
    /// Envoy's rate limit service over gRPC.
    pub grpc: Option<TcpListener>,
    /// The protocol of Redis.
    pub resp: Option<TcpListener>,
    /// For operators.
    pub admin: Option<TcpListener>,
}

/// Serves until `shutdown` completes. From then on it says that it is not ready, and every answer ends its connection; after
/// `shutdown_delay` nothing new is accepted, and what was asked until then has `shutdown_timeout` to be answered.
///
/// Operators are answered until all others were.
pub async fn run<C: Clock + 'static>(
    app: Arc<App<C>>,
    mut listeners: Listeners,
    shutdown: impl Future<Output = ()>,
) {
    if let Some(Err(error)) = listeners.admin.as_ref().map(|admin| admitted(&app, admin)) {
        tracing::error!("operators cannot come in: {error}");
        listeners.admin = None;
    }
    let admin = listeners.admin.take();
    overrides::begin(&app).await;
    let background = background(&app);
    let telemetry = otlp::begin(&app);
    let denials = denial_log::begin(&app);
    let (stopping, stopped) = told::channel(());
    let stop = async {
        shutdown.await;
        app.begin_stop();
        let delay = app.http().shutdown_delay;
        sleep(delay).await;
        drop(stopping);
    };
    let listen = async |door, listener: Option<TcpListener>| {
        if let Some(listener) = listener {
            let mut stopped = stopped.clone();
            let stop = async move { drop(stopped.changed().await) };
            accept::listen(Arc::clone(&app), door, listener, stop).await;
        }
    };
    let (ended, all_ended) = oneshot::channel::<()>();
    let checks = async {
        let Listeners { http, grpc, resp, .. } = listeners;
        tokio::join!(listen(Door::Check, Some(http)), listen(Door::Grpc, grpc), listen(Door::Resp, resp));
        drop(ended);
    };
    let operators = async {
        if let Some(admin) = admin {
            let stop = async { drop(all_ended.await) };
            accept::listen(Arc::clone(&app), Door::Admin, admin, stop).await;
        }
    };
    tokio::join!(stop, checks, operators);
    drop(background);
    app.refusals().finish();
    drop(denials);
    // A collector that is slow keeps nobody from saving what has to be kept.
    tokio::join!(snapshot::last(&app), telemetry.end());
}

/// What goes on beside the answers until the service ends: dropping it ends all of it.
fn background<C: Clock + 'static>(app: &Arc<App<C>>) -> JoinSet<()> {
    let mut background = JoinSet::new();
    background.spawn(tls::watch(Arc::clone(app)));
    background.spawn(reload::watch(Arc::clone(app)));
    background.spawn(overrides::follow(Arc::clone(app)));
    background.spawn(snapshot::keep(Arc::clone(app)));
    background.spawn(events::keep(Arc::clone(app)));
    background.spawn(audit::summarise(Arc::clone(app)));
    background
}

/// Whether the admin listener may be where it is.
fn admitted<C: Clock>(
    app: &App<C>,
    listener: &TcpListener,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(app.bind_admin(listener.local_addr()?)?)
}
