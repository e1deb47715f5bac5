//! Connection, shared by any number of concurrent calls.

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, Value};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::counting_stream::{CountingStream, Traffic};
use super::endpoint::{Address, RedisEndpoint};
use super::tls::RedisTls;
use crate::error::{CallFailure, RedisError};

/// Buffer for calls to a connection, larger than the number in flight, so that sending never waits.
const CALL_BUFFER: usize = 256;

/// Makes connections.
#[derive(Clone, Debug)]
pub(super) struct Dialer {
    pub(super) tls: RedisTls,
    pub(super) timeout: Duration,
}

impl Dialer {
    pub(super) async fn open(&self, endpoint: &RedisEndpoint) -> Result<Connection, RedisError> {
        let opened = tokio::time::timeout(self.timeout, Connection::open(endpoint, &self.tls)).await;
        let why = match opened {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(why)) => why,
            Err(_) => "connection timed out".to_owned(),
        };
        Err(RedisError::Unreachable(format!("{endpoint}: {why}")))
    }
}

/// Connection. Clones share it, and it closes with the last of them.
#[derive(Clone)]
pub(super) struct Connection {
    handle: MultiplexedConnection,
    traffic: Arc<Traffic>,
    ended: watch::Receiver<()>,
    task: Arc<Task>,
    pub(super) address: Address,
    pub(super) since: Instant,
}

/// Task that transfers the bytes.
struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Command that is sent as one unit.
pub(super) enum WireCommand {
    Plain(Cmd),
    /// ASKING holds for the next command only, so the two have to stay together.
    Asking(Cmd),
}

impl Connection {
    async fn open(endpoint: &RedisEndpoint, tls: &RedisTls) -> Result<Self, String> {
        let traffic = Arc::new(Traffic::default());
        let stream = CountingStream::open(endpoint, tls, traffic.clone()).await?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(CALL_BUFFER);
        let made = MultiplexedConnection::new_with_config(&endpoint.login, stream, config).await;
        let (handle, carrier) = made.map_err(|error| error.to_string())?;
        let (sender, ended) = watch::channel(());
        let task = tokio::spawn(async move {
            // Declared first and so dropped last: after the stream.
            let _ending = sender;
            carrier.await;
        });
        let (address, since) = (endpoint.address.clone(), Instant::now());
        Ok(Self { handle, traffic, ended, task: Arc::new(Task(task)), address, since })
    }

    /// Sends a call and waits for its answer, which may be an error of the server.
    pub(super) async fn send(&self, call: &WireCommand) -> Result<Value, CallFailure> {
        let before = self.traffic.written();
        let error = match self.exchange(call).await {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        };
        self.task.0.abort();
        self.clone().ended().await;
        // The stream is closed. If no byte was written since before the call, the call was not
        // sent: the server had closed an idle connection.
        if self.traffic.written() == before {
            return Err(CallFailure::NotRun(RedisError::Unreachable(format!("{}: {error}", self.address))));
        }
        Err(CallFailure::MayHaveRun(RedisError::Lost(format!("{}: {error}", self.address))))
    }

    async fn exchange(&self, call: &WireCommand) -> redis::RedisResult<Value> {
        let mut handle = self.handle.clone();
        match call {
            WireCommand::Plain(command) => handle.send_packed_command(command).await,
            WireCommand::Asking(command) => {
                let mut pair = Pipeline::new();
                pair.cmd("ASKING").add_command(command.clone());
                let mut answers = handle.send_packed_commands(&pair, 0, 2).await?;
                Ok(answers.pop().unwrap_or_default())
            }
        }
    }

    /// Runs a command that changes nothing.
    pub(super) async fn query(&self, words: &[&str]) -> Result<Value, RedisError> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        self.send(&WireCommand::Plain(command)).await.map_err(RedisError::from)
    }

    /// Waits until the connection is closed, by whichever side.
    pub(super) async fn ended(&mut self) {
        while self.ended.changed().await.is_ok() {}
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.has_changed().is_err()
    }

    /// Number of bytes read.
    pub(super) fn bytes_read(&self) -> u64 {
        self.traffic.read()
    }
}
