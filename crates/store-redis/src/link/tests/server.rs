//! Servers for the tests of this module, started on free ports and stopped when dropped.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use redis::{Client, FromRedisValue};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// How long anything may take that is bound to happen.
pub(super) const SURELY: Duration = Duration::from_secs(40);

pub(super) struct FakeServer {
    process: Child,
    pub(super) port: u16,
    _directory: TempDir,
}

impl FakeServer {
    /// `SLIDEGATE_REDIS_70` names the program to test with, if not `redis-server`.
    pub(super) async fn start(options: &[&str]) -> Self {
        Self::start_at(free_port(), options).await
    }

    pub(super) async fn start_at(port: u16, options: &[&str]) -> Self {
        let program = std::env::var("SLIDEGATE_REDIS_70").unwrap_or_else(|_| "redis-server".to_owned());
        let directory = tempfile::tempdir().unwrap();
        let process = Command::new(&program)
            .args(options.iter().take_while(|option| !option.starts_with("--")))
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .args(options.iter().skip_while(|option| !option.starts_with("--")))
            .current_dir(&directory)
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}; scripts/test installs it"));
        let server = Self { process, port, _directory: directory };
        until("the server answers", async || server.accepts(&["PING"]).await).await;
        server
    }

    pub(super) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(super) async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_ask(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// Whether a command is not answered with an error.
    pub(super) async fn accepts(&self, words: &[&str]) -> bool {
        self.try_ask::<redis::Value>(words).await.is_ok()
    }

    async fn try_ask<T: FromRedisValue>(&self, words: &[&str]) -> redis::RedisResult<T> {
        let mut connection = Client::open(self.url())?.get_multiplexed_async_connection().await?;
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        command.query_async(&mut connection).await
    }

    /// What a script has counted under a key.
    pub(super) async fn count(&self, key: &str) -> u64 {
        self.ask::<Option<u64>>(&["GET", key]).await.unwrap_or(0)
    }

    /// Freezes the process (`STOP`) or wakes it up again (`CONT`).
    pub(super) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub(super) fn free_port() -> u16 {
    // Below the ports of outgoing connections, and with room for the port of the cluster bus.
    loop {
        let port = 10_000 + rand_u16() % 20_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok()
            && TcpListener::bind(("127.0.0.1", port + 10_000)).is_ok()
        {
            return port;
        }
    }
}

fn rand_u16() -> u16 {
    let mut bytes = [0; 2];
    getrandom::fill(&mut bytes).unwrap();
    u16::from_le_bytes(bytes)
}

pub(super) async fn until(what: &str, mut done: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !done().await {
        assert!(start.elapsed() < SURELY, "waited in vain until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
