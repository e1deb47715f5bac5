//! What the services of all protocols share: stores, listeners, the running server, and times.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::{Clock, Memory, Redis};
use slidegate_server::{Backend, Config, Listeners, Runtime, run};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

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

impl Kind {
    /// The server of the store, if it has one.
    pub(crate) fn server(self) -> Option<RedisServer> {
        (self == Self::Redis).then(|| RedisServer::start(Flavour::Redis70))
    }
}

/// Settings of a policy file without its version.
pub(crate) fn config(policy: &str) -> Config {
    let policy = format!("version: 1\n{policy}");
    Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Store in memory, or on a server that decides by the clock of the test.
pub(crate) fn backend(
    redis: Option<&RedisServer>,
    config: &Config,
    set: impl FnOnce(RedisConfig) -> RedisConfig,
) -> Backend {
    let Some(server) = redis else { return Backend::Memory(Memory::default()) };
    let patient = RedisConfig::parse(&server.url()).expect("a URL").timeout(Duration::from_secs(30));
    Backend::over(Redis::by_callers_clock(&set(patient)), config)
}

pub(crate) async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

/// Server in this process. It stops when it is dropped.
pub(crate) struct RunningServer {
    stop: Option<oneshot::Sender<()>>,
    pub(crate) task: JoinHandle<()>,
}

impl RunningServer {
    pub(crate) fn start<C: Clock + 'static>(app: &Arc<Runtime<C>>, listeners: Listeners) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let task = tokio::spawn(run(Arc::clone(app), listeners, async move { drop(stopped.await) }));
        Self { stop: Some(stop), task }
    }

    /// Begins the shutdown; the task completes at its end.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }
}

/// Fails if something ends before the time, or long after it.
pub(crate) async fn lasts(time: Duration, what: impl Future<Output = ()>) {
    let began = Instant::now();
    timeout(5 * time, what).await.expect("an end");
    assert!(began.elapsed() >= time, "after {:?}", began.elapsed());
}

/// Sends a beginning, and then byte after byte until the server answers. Returns the first bytes of
/// the answer.
pub(crate) async fn trickle(address: SocketAddr, beginning: &str) -> [u8; 12] {
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (mut reading, mut writing) = stream.into_split();
    writing.write_all(beginning.as_bytes()).await.expect("the server reads");
    let trickle = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    let mut answer = [0; 12];
    reading.read_exact(&mut answer).await.expect("an answer");
    trickle.abort();
    answer
}
