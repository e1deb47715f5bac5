//! One request on its way: the side that waits for the answer, and the side that sends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, timeout_at};

use super::reply::{Setback, Step};
use crate::error::{Failure, RedisError};
use crate::invocation::Invocation;

const WAITING: u8 = 0;
const SENT: u8 = 1;
const LEFT: u8 = 2;

pub(super) type Answer = Result<Vec<u8>, Setback>;

/// How the script is named.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum ScriptRef {
    Sha,
    Text,
}

/// What a node is to do with a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    Ordinary,
    /// The slot is about to come to that node: it answers only if it is asked to.
    Asking,
}

/// Whether the request is there to see if the server is back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    Call,
    Probe,
}

/// A request that waits to be sent.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) invocation: Arc<Invocation>,
    pub(super) form: ScriptRef,
    pub(super) manner: Manner,
    pub(super) purpose: Purpose,
    answer: oneshot::Sender<Answer>,
    state: Arc<AtomicU8>,
    /// Its place among those that may wait.
    place: Option<OwnedSemaphorePermit>,
}

/// What the caller keeps of it.
#[derive(Debug)]
pub(super) struct Pending {
    answer: oneshot::Receiver<Answer>,
    state: Arc<AtomicU8>,
}

impl Job {
    pub(super) fn new(
        invocation: Arc<Invocation>,
        form: ScriptRef,
        manner: Manner,
        purpose: Purpose,
        place: Option<OwnedSemaphorePermit>,
    ) -> (Self, Pending) {
        let (sender, receiver) = oneshot::channel();
        let state = Arc::new(AtomicU8::new(WAITING));
        let pending = Pending { answer: receiver, state: state.clone() };
        (Self { invocation, form, manner, purpose, answer: sender, state, place }, pending)
    }

    /// Takes the request for sending. `false` if its caller has left and was told that it was not sent.
    pub(super) fn claim(&mut self) -> bool {
        self.place = None;
        step_from_waiting(&self.state, SENT)
    }

    /// A caller that has left does not mind.
    pub(super) fn answer(self, answer: Answer) {
        let _: Result<(), Answer> = self.answer.send(answer);
    }
}

impl Pending {
    /// The answer, or by the deadline whether the request was sent.
    pub(super) async fn wait(mut self, deadline: Instant) -> Answer {
        match timeout_at(deadline, &mut self.answer).await {
            Ok(Ok(answer)) => answer,
            // Whoever was to send it has gone, with its runtime or with a connection that was given up.
            Ok(Err(_)) if self.leave() => Err(Setback::Again { step: Step::Reconnect, error: given_up() }),
            Ok(Err(_)) => Err(Setback::Failed(Failure::MayHaveRun(given_up()))),
            Err(_) if self.leave() => Err(Setback::Failed(Failure::NotRun(RedisError::TimedOut))),
            Err(_) => Err(Setback::Failed(Failure::MayHaveRun(RedisError::TimedOut))),
        }
    }

    /// Whether it was not sent, and now never will be. Exactly one of leaving and sending comes first.
    fn leave(&self) -> bool {
        step_from_waiting(&self.state, LEFT)
    }
}

fn given_up() -> RedisError {
    RedisError::Lost("the connection was given up".to_owned())
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.leave();
    }
}

fn step_from_waiting(state: &AtomicU8, to: u8) -> bool {
    state.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}
