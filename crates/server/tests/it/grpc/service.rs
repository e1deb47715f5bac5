//! Server in this process with a gRPC listener, over a store in memory, or over one that never
//! answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate::SystemClock;
use slidegate_server::{Listeners, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::grpc::client::{Client, framed};
use crate::service::{RunningServer, config, listener};

pub(crate) const RULES: &str = "rules: [{ name: api, key: [user], limits: [1000000/min] }]";

pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<Runtime<SystemClock>>,
    server: RunningServer,
    silent: Option<JoinHandle<()>>,
}

impl Service {
    /// With these settings of `server`.
    pub(crate) async fn with(server: &str) -> Self {
        Self::start(&format!("server: {{ {server} }}\n{RULES}")).await
    }

    /// With these bounds on connections.
    pub(crate) async fn bounded(connections: &str) -> Self {
        Self::with(&format!("connections: {{ {connections} }}")).await
    }

    /// Over a store that accepts commands, and never answers.
    pub(crate) async fn over_silence(server: &str) -> Self {
        let (listener, address) = listener().await;
        let silent = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                open.push(stream);
            }
        });
        let store = format!("store: {{ kind: redis, url: 'redis://{address}', timeout: 60s }}");
        let mut service = Self::start(&format!("{store}\nserver: {{ {server} }}\n{RULES}")).await;
        service.silent = Some(silent);
        // It reads the notes of the store before it begins, in vain.
        let health = service.client().await.call("/grpc.health.v1.Health/Check", &[], framed(&[])).await;
        assert_eq!(health.code(), tonic::Code::Ok);
        service
    }

    pub(crate) async fn start(policy: &str) -> Self {
        let app = Arc::new(Runtime::new(config(policy)).unwrap_or_else(|error| panic!("{error}")));
        let ((http, _), (grpc, address)) = (listener().await, listener().await);
        let listeners = Listeners { http, grpc: Some(grpc), resp: None, admin: None };
        let server = RunningServer::start(&app, listeners);
        Self { address, app, server, silent: None }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// Tells it to stop.
    pub(crate) fn tell_to_stop(&mut self) {
        self.server.stop();
    }

    /// Waits until it has stopped.
    pub(crate) async fn ended(&mut self) {
        timeout(Duration::from_secs(10), &mut self.server.task)
            .await
            .expect("no long waiting")
            .expect("an end");
    }

    /// Whether it still answers others.
    pub(crate) async fn answers_others(&self) {
        let call = async { self.client().await.limit("somebody else").await };
        let reply = timeout(Duration::from_secs(10), call).await.expect("an answer in time");
        assert_eq!(reply.code(), tonic::Code::Ok, "{reply:?}");
    }

    /// Waits until so many connections are open.
    pub(crate) async fn until_open(&self, count: u64) {
        let wait = async {
            while self.app.connection_stats().open != count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let stats = || self.app.connection_stats();
        timeout(Duration::from_secs(10), wait).await.unwrap_or_else(|_| panic!("{:?}", stats()));
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.server.task.abort();
        if let Some(silent) = &self.silent {
            silent.abort();
        }
    }
}
