//! A service in this process, with every listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate_server::{Config, Listeners, Runtime, run};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

pub(crate) struct Service {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) resp: SocketAddr,
    pub(crate) admin: SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

const SERVER: &str =
    "server: { grpc: '127.0.0.1:0', resp: '127.0.0.1:0', admin: '127.0.0.1:0', ad_hoc_limits: true }";

impl Service {
    /// With this block `observe`, and these rules and other blocks.
    pub(crate) async fn start(observe: &str, rest: &str) -> Self {
        let policy = format!("version: 1\n{SERVER}\n{observe}\n{rest}");
        let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
        let app = Runtime::new(config).unwrap_or_else(|error| panic!("{error}"));
        let [http, grpc, resp, admin] =
            [listener().await, listener().await, listener().await, listener().await];
        let address = |listener: &TcpListener| listener.local_addr().expect("an address");
        let addresses = [&http, &grpc, &resp, &admin].map(address);
        let (stop, stopped) = oneshot::channel::<()>();
        let listeners = Listeners { http, grpc: Some(grpc), resp: Some(resp), admin: Some(admin) };
        let served = tokio::spawn(run(Arc::new(app), listeners, async move { drop(stopped.await) }));
        let [http, grpc, resp, admin] = addresses;
        Self { http, grpc, resp, admin, stop, served }
    }

    /// Tells it to stop, and waits until it has: everything is sent then that will be.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        let ended = timeout(Duration::from_secs(15), self.served).await;
        ended.expect("an end within five times what telemetry has for it").expect("an end");
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}
