//! Waiting for one's turn: requests on the same subjects are let in in the order in which they came.

use std::time::Duration;

use smallvec::SmallVec;
use tokio::time::{Instant, sleep, timeout_at};

use super::charges::Charges;
use super::{CheckRequest, Gate, GateError};
use crate::clock::Clock;
use slidegate_store::{Admission, Charge, Grants, IdempotentOutcome, Store};
use slidegate_store::{Key, Space};

/// How often to ask again for a place in flight, which may be released before its hold ends.
const POLL_MS: u64 = 20;

/// Who waits in one line: requests on exactly these subjects.
pub(super) type QueueKey = SmallVec<[(Space, Key<'static>); 1]>;

impl<S: Store, C: Clock> Gate<S, C> {
    /// Decides when it is the request's turn, if that comes in time; who has waited in vain gets the answer of the last moment. A
    /// wait that would be too long is not begun.
    pub(super) async fn decide_waiting(
        &self,
        enforced: &Charges<'_>,
        id: Option<u64>,
        request: &CheckRequest<'_>,
    ) -> Result<IdempotentOutcome, GateError<S::Error>> {
        let deadline = Instant::now() + request.wait;
        let charges = &enforced.charges;
        let subjects = charges.iter().map(|charge| (charge.space, charge.key.clone().into_owned())).collect();
        let Some(place) = self.queue.join(subjects) else {
            return self.decide_immediately(enforced, id, request).await;
        };
        let Ok(_turn) = timeout_at(deadline, place.turn()).await else {
            return self.decide_immediately(enforced, id, request).await;
        };
        loop {
            let answer = self.decide_immediately(enforced, id, request).await?;
            let Some(pause) = pause(&answer, charges) else { return Ok(answer) };
            if Instant::now() + pause > deadline {
                return Ok(answer);
            }
            sleep(pause).await;
        }
    }
}

/// How long to wait before asking again; nothing if that is of no use.
fn pause(answer: &IdempotentOutcome, charges: &[Charge<'_>]) -> Option<Duration> {
    let IdempotentOutcome::Decided(Admission { verdict, grants: granted }) = answer else { return None };
    let wait_ms = verdict.retry_after_ms().filter(|_| *granted != Grants::TooManyOpen)?;
    let in_flight = charges.iter().flat_map(|charge| charge.limits).any(|limit| limit.needs_id());
    Some(Duration::from_millis(if in_flight { wait_ms.min(POLL_MS) } else { wait_ms }.max(1)))
}
