//! Task of one server: receives requests, connects, sends batches, and drops dead connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::batching::Batcher;
use super::breaker::CallRole;
use super::connection::Connection;
use super::job::Job;
use super::node::NodeSettings;
use super::reply::{AttemptError, RetryStep};
use super::send_batch::{BatchEnd, send_batch};
use crate::error::RedisError;

/// Maximum number of calls in flight to one server. More would wait there instead of here, where
/// they can still be cancelled.
const IN_FLIGHT: usize = 64;
/// Minimum age at which a connection is dropped because the server is not a primary.
const YOUNG: Duration = Duration::from_millis(100);

type ConnectFuture = BoxFuture<'static, Result<Connection, RedisError>>;

pub(super) struct NodeTask {
    server: Arc<NodeSettings>,
    jobs: UnboundedReceiver<Job>,
    groups: Batcher,
    batches: FuturesUnordered<BoxFuture<'static, BatchEnd>>,
    connection: LinkState,
    /// Bytes read when the last batch ended, when the first one in flight was sent, or at the last
    /// probe.
    last_bytes_read: u64,
}

enum LinkState {
    Down,
    Connecting(ConnectFuture),
    Up(Connection),
}

enum ConnectionEvent {
    Connected(Result<Connection, RedisError>),
    Closed,
}

impl NodeTask {
    pub(super) fn new(server: Arc<NodeSettings>, jobs: UnboundedReceiver<Job>) -> Self {
        let groups = Batcher::new(server.slots, server.max_batch);
        Self {
            server,
            jobs,
            groups,
            batches: FuturesUnordered::new(),
            connection: LinkState::Down,
            last_bytes_read: 0,
        }
    }

    /// Runs until all senders are dropped.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                job = self.jobs.recv() => match job {
                    Some(job) => self.take(job),
                    None => return,
                },
                Some(ended) = self.batches.next(), if !self.batches.is_empty() => self.batch_ended(ended),
                event = self.connection.event() => self.connection_changed(event),
            }
            self.dispatch();
        }
    }

    /// Queues all requests that have arrived, so that they can share batches.
    fn take(&mut self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            if job.role == CallRole::Probe {
                self.check_silence();
            }
            self.groups.push(job);
            next = self.jobs.try_recv().ok();
        }
    }

    fn dispatch(&mut self) {
        if self.groups.has_ready() && self.connection.is_down() {
            self.connection = LinkState::Connecting(self.server.clone().connect().boxed());
        }
        let LinkState::Up(connection) = &self.connection else { return };
        while self.batches.len() < IN_FLIGHT
            && let Some(batch) = self.groups.next()
        {
            if self.batches.is_empty() {
                self.last_bytes_read = connection.bytes_read();
            }
            self.batches.push(send_batch(connection.clone(), batch).boxed());
        }
    }

    fn batch_ended(&mut self, ended: BatchEnd) {
        if let Some(kind) = ended.kind {
            self.groups.batch_ended(kind);
        }
        let LinkState::Up(connection) = &self.connection else { return };
        self.last_bytes_read = connection.bytes_read();
        if ended.demoted && connection.since.elapsed() > YOUNG {
            // Calls in flight keep the connection open until they are answered.
            self.connection = LinkState::Down;
        }
    }

    fn connection_changed(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Connected(Ok(connection)) => {
                self.server.check(&connection);
                self.connection = LinkState::Up(connection);
            }
            ConnectionEvent::Connected(Err(error)) => {
                self.connection = LinkState::Down;
                let setback = AttemptError::Again { step: RetryStep::Reconnect, error };
                self.groups.drain().into_iter().for_each(|job| job.answer(Err(setback.clone())));
            }
            ConnectionEvent::Closed => self.connection = LinkState::Down,
        }
    }

    /// Abandons a connection with calls in flight on which nothing was read since the last answer
    /// or the last probe. Bytes that belong to no answer, such as an incomplete reply, count as a
    /// sign of life once.
    fn check_silence(&mut self) {
        let LinkState::Up(connection) = &self.connection else { return };
        let read = connection.bytes_read();
        if !self.batches.is_empty() && read == self.last_bytes_read {
            self.abandon();
        } else {
            self.last_bytes_read = read;
        }
    }

    /// Drops the connection and the calls in flight, which may have run.
    fn abandon(&mut self) {
        self.connection = LinkState::Down;
        self.batches.clear();
        self.groups.connection_lost();
    }
}

impl LinkState {
    /// Next event of the connection; never if it is down.
    async fn event(&mut self) -> ConnectionEvent {
        match self {
            Self::Down => pending().await,
            Self::Connecting(connecting) => ConnectionEvent::Connected(connecting.await),
            Self::Up(connection) => {
                connection.ended().await;
                ConnectionEvent::Closed
            }
        }
    }

    fn is_down(&self) -> bool {
        match self {
            Self::Down => true,
            Self::Connecting(_) => false,
            Self::Up(connection) => connection.has_ended(),
        }
    }
}
