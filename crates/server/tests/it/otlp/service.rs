//! A service in this process, with every listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate_server::{Listeners, Runtime};
use tokio::time::timeout;

use crate::service::{RunningServer, config, listener};

pub(crate) struct Service {
    pub(crate) http: SocketAddr,
    pub(crate) grpc: SocketAddr,
    pub(crate) resp: SocketAddr,
    pub(crate) admin: SocketAddr,
    server: RunningServer,
}

const SERVER: &str =
    "server: { grpc: '127.0.0.1:0', resp: '127.0.0.1:0', admin: '127.0.0.1:0', ad_hoc_limits: true }";

impl Service {
    /// With this block `observe`, and these rules and other blocks.
    pub(crate) async fn start(observe: &str, rest: &str) -> Self {
        let config = config(&format!("{SERVER}\n{observe}\n{rest}"));
        let app = Arc::new(Runtime::new(config).unwrap_or_else(|error| panic!("{error}")));
        let ((http, http_address), (grpc, grpc_address)) = (listener().await, listener().await);
        let ((resp, resp_address), (admin, admin_address)) = (listener().await, listener().await);
        let listeners = Listeners { http, grpc: Some(grpc), resp: Some(resp), admin: Some(admin) };
        let server = RunningServer::start(&app, listeners);
        Self { http: http_address, grpc: grpc_address, resp: resp_address, admin: admin_address, server }
    }

    /// Tells it to stop, and waits until it has: everything is sent then that will be.
    pub(crate) async fn stop(mut self) {
        self.server.stop();
        let ended = timeout(Duration::from_secs(15), self.server.task).await;
        ended.expect("an end within five times what telemetry has for it").expect("an end");
    }
}
