//! Node: one server, as a circuit breaker, a bounded queue and a task.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::Instant;

use super::batching::SlotRouting;
use super::breaker::{CallOutcome, CircuitState, SharedBreaker};
use super::checks::Checks;
use super::connection::{Connection, Dialer};
use super::endpoint::RedisEndpoint;
use super::job::{Job, JobAnswer, Redirection, ScriptRef};
use super::node_task::NodeTask;
use super::refusal::RefusalMark;
use super::reply::AttemptError;
use super::sentinel::SentinelSet;
use crate::config::RedisConfig;
use crate::error::{CallFailure, RedisError};
use crate::invocation::Invocation;

/// Target of connections.
#[derive(Debug)]
pub(super) enum NodeTarget {
    Fixed(RedisEndpoint),
    /// The primary at the time of the connection.
    Elected(SentinelSet),
}

/// Settings of a node's task.
#[derive(Debug)]
pub(super) struct NodeSettings {
    target: NodeTarget,
    dialer: Dialer,
    checks: Arc<Checks>,
    pub(super) slots: SlotRouting,
    pub(super) max_batch: usize,
}

impl NodeSettings {
    pub(super) async fn connect(self: Arc<Self>) -> Result<Connection, RedisError> {
        match &self.target {
            NodeTarget::Fixed(endpoint) => self.dialer.open(endpoint).await,
            NodeTarget::Elected(sentinels) => sentinels.connect(&self.dialer).await,
        }
    }

    /// Checks the setup of the server in the background.
    pub(super) fn check(&self, connection: &Connection) {
        self.checks.start(connection, self.slots);
    }

    pub(super) fn name(&self) -> String {
        match &self.target {
            NodeTarget::Fixed(endpoint) => endpoint.to_string(),
            NodeTarget::Elected(sentinels) => sentinels.name.clone(),
        }
    }
}

/// Request to a node, and its form.
#[derive(Clone, Debug)]
pub(super) struct NodeRequest {
    pub(super) invocation: Arc<Invocation>,
    pub(super) form: ScriptRef,
    pub(super) manner: Redirection,
}

#[derive(Debug)]
pub(super) struct RedisNode {
    pub(super) server: Arc<NodeSettings>,
    breaker: SharedBreaker,
    /// Permits for waiting requests.
    waiting: Arc<Semaphore>,
    queue: Mutex<Option<UnboundedSender<Job>>>,
    pub(super) refusal: RefusalMark,
}

impl RedisNode {
    pub(super) fn new(
        target: NodeTarget,
        slots: SlotRouting,
        config: &RedisConfig,
        checks: Arc<Checks>,
    ) -> Self {
        let dialer = Dialer { tls: config.tls.clone(), timeout: config.connect_timeout };
        let server = NodeSettings { target, dialer, checks, slots, max_batch: config.max_batch };
        Self {
            server: Arc::new(server),
            breaker: SharedBreaker::new(config.breaker),
            waiting: Arc::new(Semaphore::new(config.max_waiting)),
            queue: Mutex::new(None),
            refusal: RefusalMark::default(),
        }
    }

    /// One attempt, which ends by the deadline.
    pub(super) async fn attempt(&self, request: NodeRequest, deadline: Instant) -> JobAnswer {
        let refused = |error| Err(AttemptError::Failed(CallFailure::NotRun(error)));
        let Some(call) = self.breaker.enter() else { return refused(RedisError::Open) };
        let Ok(waiting) = self.waiting.clone().try_acquire_owned() else {
            return refused(RedisError::Overloaded);
        };
        let role = call.role();
        let NodeRequest { invocation, form, manner } = request;
        let (job, pending) = Job::new(invocation, form, manner, role, Some(waiting));
        self.enqueue(job);
        let answer = pending.wait(deadline).await;
        call.end(match &answer {
            Err(setback) if setback.error().is_outage() => CallOutcome::Failed,
            _ => CallOutcome::Alive,
        });
        answer
    }

    /// Sends the request to the task, which is started at first use, and again if its runtime has
    /// ended.
    fn enqueue(&self, job: Job) {
        let mut queue = self.queue.lock();
        let unsent = match queue.as_ref() {
            Some(sender) => sender.send(job).err().map(|error| error.0),
            None => Some(job),
        };
        if let Some(job) = unsent {
            let (sender, jobs) = mpsc::unbounded_channel();
            tokio::spawn(NodeTask::new(self.server.clone(), jobs).run());
            // The receiver is in the task; if that was dropped at once, the caller gets an error.
            let _: Result<(), _> = sender.send(job);
            *queue = Some(sender);
        }
    }

    pub(super) fn health(&self) -> CircuitState {
        self.breaker.health()
    }
}
