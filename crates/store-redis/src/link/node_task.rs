//! Task of one server: receives requests, connects, sends batches, and drops dead connections.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::batching::Batcher;
use super::connection::Connection;
use super::job::{Job, JobPurpose};
use super::node::NodeSettings;
use super::reply::{AttemptError, RetryStep};
use super::send_batch::{BatchEnd, send_batch};
use crate::error::RedisError;

/// Calls under way to one server. More would wait there instead of here, where they can still be
/// left unsent.
const IN_FLIGHT: usize = 64;
/// A connection younger than this is kept even if the server says that it is no primary: looking
/// again takes a moment.
const YOUNG: Duration = Duration::from_millis(100);

type Connecting = BoxFuture<'static, Result<Connection, RedisError>>;

pub(super) struct NodeTask {
    server: Arc<NodeSettings>,
    jobs: UnboundedReceiver<Job>,
    groups: Batcher,
    batches: FuturesUnordered<BoxFuture<'static, BatchEnd>>,
    line: LinkState,
    /// How many bytes had come when the last call came back, the first of those under way was sent,
    /// or a probe came by.
    last_bytes_read: u64,
}

enum LinkState {
    Down,
    Connecting(Connecting),
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
            line: LinkState::Down,
            last_bytes_read: 0,
        }
    }

    /// Ends when nobody is left who could ask.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                job = self.jobs.recv() => match job {
                    Some(job) => self.take(job),
                    None => return,
                },
                Some(ended) = self.batches.next(), if !self.batches.is_empty() => self.batch_ended(ended),
                event = self.line.event() => self.turn(event),
            }
            self.dispatch();
        }
    }

    /// Takes all that have come meanwhile, so that they can travel together.
    fn take(&mut self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            if job.purpose == JobPurpose::Probe {
                self.check_silence();
            }
            self.groups.push(job);
            next = self.jobs.try_recv().ok();
        }
    }

    fn dispatch(&mut self) {
        if self.groups.has_ready() && self.line.is_down() {
            self.line = LinkState::Connecting(self.server.clone().connect().boxed());
        }
        let LinkState::Up(connection) = &self.line else { return };
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
        let LinkState::Up(connection) = &self.line else { return };
        self.last_bytes_read = connection.bytes_read();
        if ended.demoted && connection.since.elapsed() > YOUNG {
            // Calls under way keep the connection until they are answered.
            self.line = LinkState::Down;
        }
    }

    fn turn(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Connected(Ok(connection)) => {
                self.server.check(&connection);
                self.line = LinkState::Up(connection);
            }
            ConnectionEvent::Connected(Err(error)) => {
                self.line = LinkState::Down;
                let setback = AttemptError::Again { step: RetryStep::Reconnect, error };
                self.groups.drain().into_iter().for_each(|job| job.answer(Err(setback.clone())));
            }
            ConnectionEvent::Closed => self.line = LinkState::Down,
        }
    }

    /// Leaves a connection on which calls are under way and nothing at all has come back since the
    /// last answer, or the last probe: bytes that belong to no answer, such as those of a reply
    /// that broke off, are taken for a sign of life once.
    fn check_silence(&mut self) {
        let LinkState::Up(connection) = &self.line else { return };
        let read = connection.bytes_read();
        if !self.batches.is_empty() && read == self.last_bytes_read {
            self.abandon();
        } else {
            self.last_bytes_read = read;
        }
    }

    /// Leaves the connection and what is under way on it, whose callers learn that it may have run.
    fn abandon(&mut self) {
        self.line = LinkState::Down;
        self.batches.clear();
        self.groups.connection_lost();
    }
}

impl LinkState {
    /// What happens to it next; nothing by itself if it is down.
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
