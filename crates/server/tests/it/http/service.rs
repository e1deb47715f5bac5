//! A service in this process, on a port of its own, over either store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slidegate::{Clock, ManualClock, SystemClock};
use slidegate_server::{Listeners, Runtime};
use slidegate_testkit::servers::RedisServer;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http::client::{Client, Response};
use crate::http::document::Document;
pub(crate) use crate::service::{BOTH, Kind, START_MS};
use crate::service::{RunningServer, backend, config, listener};

pub(crate) struct Service<C = ManualClock> {
    pub(crate) address: SocketAddr,
    /// Address of the admin listener, if the policy has one.
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) app: Arc<Runtime<C>>,
    clock: C,
    pub(crate) document: Arc<Document>,
    _redis: Option<RedisServer>,
    server: RunningServer,
}

impl Service {
    /// Time stands still until [`Service::advance_ms`].
    pub(crate) async fn start(kind: Kind, policy: &str) -> Self {
        Self::start_by(kind, policy, ManualClock::new(START_MS)).await
    }

    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }
}

impl Service<SystemClock> {
    /// Time goes on by itself.
    pub(crate) async fn start_in_real_time(kind: Kind, policy: &str) -> Self {
        Self::start_by(kind, policy, SystemClock::new()).await
    }
}

impl<C: Clock + Clone + 'static> Service<C> {
    async fn start_by(kind: Kind, policy: &str, clock: C) -> Self {
        let (config, redis) = (config(policy), kind.server());
        // Denials that are repeated for half a second of real time do not know of the time of the
        // test.
        let backend = backend(redis.as_ref(), &config, |redis| redis.deny_cache(Duration::ZERO));
        let app = Runtime::over(config, backend).expect("settings").clock(clock.clone());
        Self::serve(app, clock, redis).await
    }

    pub(crate) async fn serve(app: Runtime<C>, clock: C, redis: Option<RedisServer>) -> Self {
        let (http, address) = listener().await;
        let admin = match &app.settings().server.admin {
            Some(admin) => Some(TcpListener::bind(admin.listen).await.expect("a port")),
            None => None,
        };
        let admin_address = admin.as_ref().map(|admin| admin.local_addr().expect("an address"));
        let app = Arc::new(app);
        let server = RunningServer::start(&app, Listeners { http, grpc: None, resp: None, admin });
        let document = Client::connect(address, None).await.get("/openapi.json", &[]).await.json();
        let document = Arc::new(Document::new(document));
        Self { address, admin: admin_address, app, clock, document, _redis: redis, server }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address, Some(Arc::clone(&self.document))).await
    }

    /// Tells it to stop, and returns when it has.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        self.server.stop();
        self.server.task
    }
}

impl Client {
    /// `POST /v1/check` with these attributes and nothing else.
    pub(crate) async fn check(&mut self, attributes: Value) -> Response {
        self.post("/v1/check", &json!({ "attributes": attributes })).await
    }

    /// The statuses of so many checks.
    pub(crate) async fn statuses(&mut self, times: usize, attributes: Value) -> Vec<u16> {
        let mut statuses = Vec::new();
        for _ in 0..times {
            statuses.push(self.check(attributes.clone()).await.status);
        }
        statuses
    }
}
