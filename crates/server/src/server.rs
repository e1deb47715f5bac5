//! Server: listeners with their protocols, and the tasks in the background.

use std::future::Future;
use std::sync::Arc;

use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::admin::events::{self, Events};
use crate::admin::routes::AdminApi;
use crate::config::listener::Listener;
use crate::net::accept::listen;
use crate::net::connections::Progress;
use crate::net::serve::{Caller, Serve};
use crate::protocols::rest::routes::CheckApi;
use crate::protocols::{grpc, http, resp};
use crate::runtime::decider::Decider;
use crate::runtime::{Runtime, certificates, metrics, overrides, reload, snapshot};
use crate::telemetry::{audit, denial_log, otlp};

/// Sockets of the server, already bound.
#[derive(Debug)]
pub struct Listeners {
    /// Checks and forward-auth over HTTP.
    pub http: TcpListener,
    /// Envoy's rate limit service over gRPC.
    pub grpc: Option<TcpListener>,
    /// The protocol of Redis.
    pub resp: Option<TcpListener>,
    /// The admin API and the console.
    pub admin: Option<TcpListener>,
}

/// Serves until `shutdown` completes. From then on the server is not ready, and every response ends
/// its connection. After `shutdown_delay` it accepts no connections, and requests in progress have
/// `shutdown_timeout` to complete.
///
/// The admin listener stays open until all others have ended.
pub async fn run<C: Clock + 'static>(
    runtime: Arc<Runtime<C>>,
    mut listeners: Listeners,
    shutdown: impl Future<Output = ()>,
) {
    if let Some(Err(error)) = listeners.admin.as_ref().map(|admin| bind_admin(&runtime, admin)) {
        tracing::error!("the admin listener is disabled: {error}");
        listeners.admin = None;
    }
    let admin = listeners.admin.take();
    resp::announce(runtime.gate().store());
    overrides::begin(&runtime).await;
    let events = Arc::new(Events::new(Arc::clone(&runtime.viewers)));
    let background = background(&runtime, &events);
    let gather = {
        let runtime = Arc::clone(&runtime);
        Box::new(move |sink: &mut dyn metrics::Sink| metrics::gather(&runtime, sink))
    };
    let exporting = otlp::begin(&runtime.decider().tracer, gather);
    let denials = runtime.telemetry().and_then(|_| {
        let per_second = runtime.settings().observe.denial_log;
        denial_log::begin(&runtime.denial_log, runtime.log.clone(), per_second)
    });
    let (stopping, stopped) = watch::channel(());
    let stop = async {
        shutdown.await;
        runtime.begin_shutdown();
        let delay = runtime.decider().settings().shutdown_delay;
        sleep(delay).await;
        drop(stopping);
    };
    let protocols = Protocols {
        decider: Arc::clone(runtime.decider()),
        check: Arc::new(CheckApi),
        admin: Arc::new(AdminApi::new(Arc::clone(&runtime), events)),
    };
    let serve = async |listener, socket: Option<TcpListener>| {
        if let Some(socket) = socket {
            let mut stopped = stopped.clone();
            let stop = async move { drop(stopped.changed().await) };
            listen(Arc::clone(runtime.network()), protocols.clone(), listener, socket, stop).await;
        }
    };
    let (ended, all_ended) = oneshot::channel::<()>();
    let checks = async {
        let Listeners { http, grpc, resp, .. } = listeners;
        let http = serve(Listener::Http, Some(http));
        tokio::join!(http, serve(Listener::Grpc, grpc), serve(Listener::Resp, resp));
        drop(ended);
    };
    let operators = async {
        if let Some(admin) = admin {
            let stop = async { drop(all_ended.await) };
            let network = Arc::clone(runtime.network());
            listen(network, protocols.clone(), Listener::Admin, admin, stop).await;
        }
    };
    tokio::join!(stop, checks, operators);
    drop(background);
    runtime.audit_budget.finish();
    drop(denials);
    // A slow collector must not delay the last snapshot.
    tokio::join!(snapshot::last(&runtime), exporting.end());
}

/// Tasks that run beside the listeners. Dropping the set ends them.
fn background<C: Clock + 'static>(runtime: &Arc<Runtime<C>>, events: &Arc<Events>) -> JoinSet<()> {
    let mut background = JoinSet::new();
    background.spawn(certificates::watch(Arc::clone(runtime.network())));
    background.spawn(reload::watch(Arc::clone(runtime)));
    background.spawn(overrides::follow(Arc::clone(runtime)));
    background.spawn(snapshot::save_regularly(Arc::clone(runtime)));
    background.spawn(events::publish(Arc::clone(events), Arc::clone(runtime)));
    background.spawn(audit::summarise(Arc::clone(&runtime.audit_budget)));
    background
}

/// Checks that the address of the admin listener is protected.
fn bind_admin<C: Clock>(
    runtime: &Runtime<C>,
    socket: &TcpListener,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Ok(runtime.bind_admin(socket.local_addr()?)?)
}

/// Protocols by listener.
struct Protocols<C> {
    decider: Arc<Decider<C>>,
    check: Arc<CheckApi>,
    admin: Arc<AdminApi<C>>,
}

impl<C> Clone for Protocols<C> {
    fn clone(&self) -> Self {
        let Self { decider, check, admin } = self;
        Self { decider: Arc::clone(decider), check: Arc::clone(check), admin: Arc::clone(admin) }
    }
}

impl<C: Clock + 'static> Serve for Protocols<C> {
    async fn serve(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        caller: Caller,
        progress: Arc<Progress>,
    ) {
        let Self { decider, check, admin } = self;
        match caller.listener {
            Listener::Http => http::connection::serve(decider, check, stream, caller, progress).await,
            // Boxed, so that connections of the check API stay small.
            Listener::Admin => {
                Box::pin(http::connection::serve(decider, admin, stream, caller, progress)).await;
            }
            Listener::Grpc => Box::pin(grpc::connection::serve(decider, stream, caller, progress)).await,
            Listener::Resp => Box::pin(resp::connection::serve(decider, stream, caller, progress)).await,
        }
    }
}
