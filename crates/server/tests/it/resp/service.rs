//! A service in this process, on ports of its own, over either store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::{ManualClock, Memory, Redis};
use slidegate_server::{Backend, Config, Listeners, Runtime, run};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::resp::client::Client;

/// Kind of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Memory,
    Redis,
}

/// Every test of decisions runs over both.
pub(crate) const BOTH: [Kind; 2] = [Kind::Memory, Kind::Redis];

/// When time begins: 3 seconds into a minute.
pub(crate) const START_MS: u64 = 1_745_000_103_000;

pub(crate) struct Service {
    /// Where Redis is spoken.
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<Runtime<ManualClock>>,
    clock: ManualClock,
    pub(crate) redis: Option<RedisServer>,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

impl Service {
    /// Time stands still until [`Service::advance_ms`]. No denial is repeated: those that are do
    /// not know of the time of the test.
    pub(crate) async fn start(kind: Kind, policy: &str) -> Self {
        Self::over(server(kind), |config| config.deny_cache(Duration::ZERO), policy).await
    }

    /// The same with denials that are repeated for an hour of real time, where any are.
    pub(crate) async fn repeating(kind: Kind, policy: &str) -> Self {
        Self::over(server(kind), |config| config.deny_cache(Duration::from_secs(3_600)), policy).await
    }

    /// Over a Redis server in this mode.
    pub(crate) async fn over(
        redis: Option<RedisServer>,
        set: impl FnOnce(RedisConfig) -> RedisConfig,
        policy: &str,
    ) -> Self {
        let mut config = parse(policy);
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0)).into();
        config.settings.server.resp.get_or_insert(anywhere);
        let backend = match &redis {
            None => Backend::Memory(Memory::default()),
            Some(server) => {
                let patient =
                    RedisConfig::parse(&server.url()).expect("a URL").timeout(Duration::from_secs(30));
                Backend::over(Redis::by_callers_clock(&set(patient)), &config)
            }
        };
        let clock = ManualClock::new(START_MS);
        let app = Arc::new(Runtime::over(config, backend).expect("settings").clock(clock.clone()));
        let [http, resp] = [listener().await, listener().await];
        let address = resp.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let listeners = Listeners { http, grpc: None, resp: Some(resp), admin: None };
        let served = tokio::spawn(run(Arc::clone(&app), listeners, async move { drop(stopped.await) }));
        Self { address, app, clock, redis, stop: Some(stop), served }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }

    /// Tells it to stop; completes when it has.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        drop(self.stop.take());
        self.served
    }
}

fn server(kind: Kind) -> Option<RedisServer> {
    (kind == Kind::Redis).then(|| RedisServer::start(Flavour::Redis70))
}

fn parse(policy: &str) -> Config {
    let policy = format!("version: 1\n{policy}");
    Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"))
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}
