//! One server as callers see it: a breaker in front, a bounded queue behind that, and a task at its end.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::Instant;

use super::batching::Slots;
use super::breaker::{Gate, Health, Outcome};
use super::checks::Checks;
use super::connection::{Connection, Dialer};
use super::endpoint::Endpoint;
use super::job::{Answer, Job, Manner, Purpose, ScriptRef};
use super::node_task::Driver;
use super::refusal::Mark;
use super::reply::Setback;
use super::sentinel::Sentinels;
use crate::config::Config;
use crate::error::{Failure, RedisError};
use crate::invocation::Invocation;

/// How to get a connection to it.
#[derive(Debug)]
pub(super) enum Target {
    Fixed(Endpoint),
    /// Whoever is the primary when a connection is made.
    Elected(Sentinels),
}

/// What its task needs to know.
#[derive(Debug)]
pub(super) struct Server {
    target: Target,
    dialer: Dialer,
    checks: Arc<Checks>,
    pub(super) slots: Slots,
    pub(super) max_batch: usize,
}

impl Server {
    pub(super) async fn connect(self: Arc<Self>) -> Result<Connection, RedisError> {
        match &self.target {
            Target::Fixed(endpoint) => self.dialer.open(endpoint).await,
            Target::Elected(sentinels) => sentinels.connect(&self.dialer).await,
        }
    }

    /// Looks in the background whether the server is set up as it should be.
    pub(super) fn check(&self, connection: &Connection) {
        self.checks.start(connection, self.slots);
    }

    pub(super) fn name(&self) -> String {
        match &self.target {
            Target::Fixed(endpoint) => endpoint.to_string(),
            Target::Elected(sentinels) => sentinels.name.clone(),
        }
    }
}

/// A request, and how it is put.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) invocation: Arc<Invocation>,
    pub(super) form: ScriptRef,
    pub(super) manner: Manner,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) server: Arc<Server>,
    gate: Gate,
    places: Arc<Semaphore>,
    queue: Mutex<Option<UnboundedSender<Job>>>,
    pub(super) refusal: Mark,
}

impl Node {
    pub(super) fn new(target: Target, slots: Slots, config: &Config, checks: Arc<Checks>) -> Self {
        let dialer = Dialer { tls: config.tls.clone(), timeout: config.connect_timeout };
        let server = Server { target, dialer, checks, slots, max_batch: config.max_batch };
        Self {
            server: Arc::new(server),
            gate: Gate::new(config.breaker),
            places: Arc::new(Semaphore::new(config.max_waiting)),
            queue: Mutex::new(None),
            refusal: Mark::default(),
        }
    }

    /// One attempt, which ends by the deadline.
    pub(super) async fn attempt(&self, request: Request, deadline: Instant) -> Answer {
        let refused = |error| Err(Setback::Failed(Failure::NotRun(error)));
        let Some(passage) = self.gate.enter() else { return refused(RedisError::Open) };
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            return refused(RedisError::Overloaded);
        };
        let purpose = if passage.is_probe() { Purpose::Probe } else { Purpose::Call };
        let Request { invocation, form, manner } = request;
        let (job, pending) = Job::new(invocation, form, manner, purpose, Some(place));
        self.enqueue(job);
        let answer = pending.wait(deadline).await;
        passage.end(match &answer {
            Err(setback) if setback.error().is_outage() => Outcome::Failed,
            _ => Outcome::Alive,
        });
        answer
    }

    /// Hands the request to the task, which is started at first use, and again if its runtime has gone.
    fn enqueue(&self, job: Job) {
        let mut queue = self.queue.lock();
        let unsent = match queue.as_ref() {
            Some(sender) => sender.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            let (sender, jobs) = mpsc::unbounded_channel();
            tokio::spawn(Driver::new(self.server.clone(), jobs).run());
            // The receiver is in the task; if that was dropped at once, the job's caller is told.
            let _: Result<(), _> = sender.send(job);
            *queue = Some(sender);
        }
    }

    pub(super) fn health(&self) -> Health {
        self.gate.health()
    }
}
