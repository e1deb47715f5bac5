//! A service in this process, on a port of its own, over either store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use slidegate::store::redis::RedisConfig;
use slidegate::{Clock, ManualClock, Memory, Redis, SystemClock};
use slidegate_server::{Backend, Config, Listeners, Runtime, run};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::http::client::{Client, Response};
use crate::http::document::Document;

/// Kind of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Memory,
    Redis,
}

/// Every test of decisions runs over both.
pub(crate) const BOTH: [Kind; 2] = [Kind::Memory, Kind::Redis];

/// When time begins, where a test moves it: 3 seconds into a minute.
pub(crate) const START_MS: u64 = 1_745_000_103_000;

pub(crate) struct Service<C = ManualClock> {
    pub(crate) address: SocketAddr,
    /// Address of the admin listener, if the policy has one.
    pub(crate) admin: Option<SocketAddr>,
    pub(crate) app: Arc<Runtime<C>>,
    clock: C,
    pub(crate) document: Arc<Document>,
    _redis: Option<RedisServer>,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
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
        let policy = format!("version: 1\n{policy}");
        let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
        let redis = (kind == Kind::Redis).then(|| RedisServer::start(Flavour::Redis70));
        let backend = match &redis {
            None => Backend::Memory(Memory::default()),
            Some(server) => {
                // Denials that are repeated for half a second of real time do not know of the time
                // of the test.
                let patient =
                    RedisConfig::parse(&server.url()).expect("a URL").timeout(Duration::from_secs(30));
                Backend::over(Redis::by_callers_clock(&patient.deny_cache(Duration::ZERO)), &config)
            }
        };
        let app = Runtime::over(config, backend).expect("settings").clock(clock.clone());
        Self::serve(app, clock, redis).await
    }

    pub(crate) async fn serve(app: Runtime<C>, clock: C, redis: Option<RedisServer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let admin = match &app.settings().server.admin {
            Some(admin) => Some(TcpListener::bind(admin.listen).await.expect("a port")),
            None => None,
        };
        let admin_address = admin.as_ref().map(|admin| admin.local_addr().expect("an address"));
        let (stop, stopped) = oneshot::channel::<()>();
        let app = Arc::new(app);
        let shutdown = async move { drop(stopped.await) };
        let served = tokio::spawn(run(
            Arc::clone(&app),
            Listeners { http: listener, grpc: None, resp: None, admin },
            shutdown,
        ));
        let document = Client::connect(address, None).await.get("/openapi.json", &[]).await.json();
        let document = Arc::new(Document::new(document));
        Self { address, admin: admin_address, app, clock, document, _redis: redis, stop: Some(stop), served }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address, Some(Arc::clone(&self.document))).await
    }

    /// Tells it to stop, and returns when it has.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        drop(self.stop.take());
        self.served
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
