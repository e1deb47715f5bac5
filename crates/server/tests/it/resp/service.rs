//! A service in this process, on ports of its own, over either store.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate::ManualClock;
use slidegate::store::redis::RedisConfig;
use slidegate_server::{Listeners, Runtime};
use slidegate_testkit::servers::RedisServer;
use tokio::task::JoinHandle;

use crate::resp::client::Client;
pub(crate) use crate::service::{BOTH, Kind, START_MS};
use crate::service::{RunningServer, backend, config, listener};

pub(crate) struct Service {
    /// Where Redis is spoken.
    pub(crate) address: SocketAddr,
    pub(crate) app: Arc<Runtime<ManualClock>>,
    clock: ManualClock,
    pub(crate) redis: Option<RedisServer>,
    server: RunningServer,
}

impl Service {
    /// Time stands still until [`Service::advance_ms`]. No denial is repeated: those that are do
    /// not know of the time of the test.
    pub(crate) async fn start(kind: Kind, policy: &str) -> Self {
        Self::over(kind.server(), |config| config.deny_cache(Duration::ZERO), policy).await
    }

    /// The same with denials that are repeated for an hour of real time, where any are.
    pub(crate) async fn repeating(kind: Kind, policy: &str) -> Self {
        Self::over(kind.server(), |config| config.deny_cache(Duration::from_secs(3_600)), policy).await
    }

    /// Over a Redis server in this mode.
    pub(crate) async fn over(
        redis: Option<RedisServer>,
        set: impl FnOnce(RedisConfig) -> RedisConfig,
        policy: &str,
    ) -> Self {
        let mut config = config(policy);
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0)).into();
        config.settings.server.resp.get_or_insert(anywhere);
        let backend = backend(redis.as_ref(), &config, set);
        let clock = ManualClock::new(START_MS);
        let app = Arc::new(Runtime::over(config, backend).expect("settings").clock(clock.clone()));
        let ((http, _), (resp, address)) = (listener().await, listener().await);
        let listeners = Listeners { http, grpc: None, resp: Some(resp), admin: None };
        let server = RunningServer::start(&app, listeners);
        Self { address, app, clock, redis, server }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.advance_ms(ms);
    }

    /// Tells it to stop; completes when it has.
    pub(crate) fn stop(mut self) -> JoinHandle<()> {
        self.server.stop();
        self.server.task
    }
}
