//! Job: a request to a server, with the caller's side and the sender's side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout_at};

use super::breaker::CallRole;
use super::reply::{AttemptError, RetryStep};
use crate::error::{CallFailure, RedisError};
use crate::invocation::Invocation;

const WAITING: u8 = 0;
const SENT: u8 = 1;
const LEFT: u8 = 2;

pub(super) type JobAnswer = Result<Vec<u8>, AttemptError>;

/// Reference to a script: by hash or by text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ScriptRef {
    Sha,
    Text,
}

/// Redirection of a request in a Cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Redirection {
    Ordinary,
    /// The slot is being moved to that node, which answers only after ASKING.
    Asking,
}

/// Request that waits to be sent.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) invocation: Arc<Invocation>,
    pub(super) form: ScriptRef,
    pub(super) manner: Redirection,
    pub(super) role: CallRole,
    answer: oneshot::Sender<JobAnswer>,
    state: Arc<AtomicU8>,
    /// Its share of the bound on waiting requests.
    waiting: Option<OwnedSemaphorePermit>,
}

/// Caller's side of a job.
#[derive(Debug)]
pub(super) struct PendingJob {
    answer: oneshot::Receiver<JobAnswer>,
    state: Arc<AtomicU8>,
}

impl Job {
    pub(super) fn new(
        invocation: Arc<Invocation>,
        form: ScriptRef,
        manner: Redirection,
        role: CallRole,
        waiting: Option<OwnedSemaphorePermit>,
    ) -> (Self, PendingJob) {
        let (sender, receiver) = oneshot::channel();
        let state = Arc::new(AtomicU8::new(WAITING));
        let pending = PendingJob { answer: receiver, state: state.clone() };
        (Self { invocation, form, manner, role, answer: sender, state, waiting }, pending)
    }

    /// Claims the request for sending. `false` if its caller has left, for whom it counts as not
    /// sent.
    pub(super) fn claim(&mut self) -> bool {
        self.waiting = None;
        step_from_waiting(&self.state, SENT)
    }

    /// Sends the answer to the caller, unless it has left.
    pub(super) fn answer(self, answer: JobAnswer) {
        let _: Result<(), JobAnswer> = self.answer.send(answer);
    }
}

impl PendingJob {
    /// Answer, or an error at the deadline that says whether the request was sent.
    pub(super) async fn wait(mut self, deadline: Instant) -> JobAnswer {
        match timeout_at(deadline, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            // The sender has gone, with its runtime or with an abandoned connection.
            Ok(Err(_)) if self.leave() => {
                Err(AttemptError::Again { step: RetryStep::Reconnect, error: lost() })
            }
            Ok(Err(_)) => Err(AttemptError::Failed(CallFailure::MayHaveRun(lost()))),
            Err(_) if self.leave() => Err(AttemptError::Failed(CallFailure::NotRun(RedisError::TimedOut))),
            Err(_) => Err(AttemptError::Failed(CallFailure::MayHaveRun(RedisError::TimedOut))),
        }
    }

    /// Leaves. True if the request was not sent, and so never will be: exactly one of leaving and
    /// sending is first.
    fn leave(&self) -> bool {
        step_from_waiting(&self.state, LEFT)
    }
}

fn lost() -> RedisError {
    RedisError::Lost("the connection was given up".to_owned())
}

impl Drop for PendingJob {
    fn drop(&mut self) {
        self.leave();
    }
}

fn step_from_waiting(state: &AtomicU8, to: u8) -> bool {
    state.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}
