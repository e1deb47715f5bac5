//! The task of one server: takes requests, connects, sends them in calls, and lets go of connections that are of no use.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc::UnboundedReceiver;

use super::batching::Groups;
use super::connection::Connection;
use super::job::{Job, Purpose};
use super::node::Server;
use super::reply::{Setback, Step};
use super::send_batch::{Landing, fly};
use crate::error::RedisError;

/// Calls under way to one server. More would wait there instead of here, where they can still be left unsent.
const IN_FLIGHT: usize = 64;
/// A connection younger than this is kept even if the server says that it is no primary: looking again takes a moment.
const YOUNG: Duration = Duration::from_millis(100);

type Connecting = BoxFuture<'static, Result<Connection, RedisError>>;

pub(super) struct Driver {
    server: Arc<Server>,
    jobs: UnboundedReceiver<Job>,
    groups: Groups,
    flights: FuturesUnordered<BoxFuture<'static, Landing>>,
    line: Line,
    /// How many bytes had come when the last call came back, the first of those under way was sent, or a probe came by.
    heard: u64,
}

enum Line {
    Down,
    Connecting(Connecting),
    Up(Connection),
}

enum Event {
    Connected(Result<Connection, RedisError>),
    Closed,
}

impl Driver {
    pub(super) fn new(server: Arc<Server>, jobs: UnboundedReceiver<Job>) -> Self {
        let groups = Groups::new(server.slots, server.max_batch);
        Self { server, jobs, groups, flights: FuturesUnordered::new(), line: Line::Down, heard: 0 }
    }

    /// Ends when nobody is left who could ask.
    pub(super) async fn run(mut self) {
        loop {
            tokio::select! {
                job = self.jobs.recv() => match job {
                    Some(job) => self.take(job),
                    None => return,
                },
                Some(landing) = self.flights.next(), if !self.flights.is_empty() => self.land(landing),
                event = self.line.event() => self.turn(event),
            }
            self.dispatch();
        }
    }

    /// Takes all that have come meanwhile, so that they can travel together.
    fn take(&mut self, first: Job) {
        let mut next = Some(first);
        while let Some(job) = next {
            if job.purpose == Purpose::Probe {
                self.listen();
            }
            self.groups.push(job);
            next = self.jobs.try_recv().ok();
        }
    }

    fn dispatch(&mut self) {
        if self.groups.have_ready() && self.line.is_down() {
            self.line = Line::Connecting(self.server.clone().connect().boxed());
        }
        let Line::Up(connection) = &self.line else { return };
        while self.flights.len() < IN_FLIGHT
            && let Some(batch) = self.groups.next()
        {
            if self.flights.is_empty() {
                self.heard = connection.bytes_read();
            }
            self.flights.push(fly(connection.clone(), batch).boxed());
        }
    }

    fn land(&mut self, landing: Landing) {
        if let Some(kind) = landing.kind {
            self.groups.landed(kind);
        }
        let Line::Up(connection) = &self.line else { return };
        self.heard = connection.bytes_read();
        if landing.demoted && connection.since.elapsed() > YOUNG {
            // Calls under way keep the connection until they are answered.
            self.line = Line::Down;
        }
    }

    fn turn(&mut self, event: Event) {
        match event {
            Event::Connected(Ok(connection)) => {
                self.server.check(&connection);
                self.line = Line::Up(connection);
            }
            Event::Connected(Err(error)) => {
                self.line = Line::Down;
                let setback = Setback::Again { step: Step::Reconnect, error };
                self.groups.drain().into_iter().for_each(|job| job.answer(Err(setback.clone())));
            }
            Event::Closed => self.line = Line::Down,
        }
    }

    /// Leaves a connection on which calls are under way and nothing at all has come back since the last answer, or the last probe:
    /// bytes that belong to no answer, such as those of a reply that broke off, are taken for a sign of life once.
    fn listen(&mut self) {
        let Line::Up(connection) = &self.line else { return };
        let read = connection.bytes_read();
        if !self.flights.is_empty() && read == self.heard {
            self.give_up();
        } else {
            self.heard = read;
        }
    }

    /// Leaves the connection and what is under way on it, whose callers learn that it may have run.
    fn give_up(&mut self) {
        self.line = Line::Down;
        self.flights.clear();
        self.groups.grounded();
    }
}

impl Line {
    /// What happens to it next; nothing by itself if it is down.
    async fn event(&mut self) -> Event {
        match self {
            Self::Down => pending().await,
            Self::Connecting(connecting) => Event::Connected(connecting.await),
            Self::Up(connection) => {
                connection.ended().await;
                Event::Closed
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
