//! Waiting for admission: requests on the same subjects are admitted in order of arrival.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::Gate;
use super::charges::Charges;
use super::pipeline::DecisionOptions;
use crate::clock::Clock;
use slidegate_store::{Admission, Charge, Grants, IdempotentOutcome, Store};
use slidegate_store::{Key, Space};

/// Interval between attempts for a slot in flight, which may be released before its hold ends.
const POLL_MS: u64 = 20;

/// Subject of a rule.
pub(super) type WaitSubject = (Space, Key<'static>);

/// Flag of a request, set while it only waits: nothing is charged or on its way to the store then,
/// so that its future can be dropped.
#[derive(Default, Debug)]
pub(crate) struct WaitFlag(AtomicBool);

impl WaitFlag {
    /// Whether the request only waits. Read between two polls of its future.
    #[cfg(feature = "tower")]
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set(&self, is_waiting: bool) {
        self.0.store(is_waiting, Ordering::Relaxed);
    }
}

impl DecisionOptions<'_> {
    /// Awaits what comes between two attempts.
    async fn wait_for<T>(&self, pause: impl Future<Output = T>) -> T {
        let flag = self.wait_flag;
        flag.inspect(|flag| flag.set(true));
        let result = pause.await;
        flag.inspect(|flag| flag.set(false));
        result
    }
}

impl<S: Store, C: Clock> Gate<S, C> {
    /// Decides when it is the request's turn, if that comes before the deadline; otherwise the last
    /// attempt is the answer. A wait beyond the deadline is not begun.
    pub(super) async fn decide_waiting(
        &self,
        charges: &Charges<'_>,
        id: Option<u64>,
        options: DecisionOptions<'_>,
    ) -> Result<IdempotentOutcome, S::Error> {
        let deadline = Instant::now() + options.wait;
        let each = charges.charges.iter();
        let subjects = each.map(|charge| (charge.space, charge.key.clone().into_owned()));
        let Some(ticket) = self.queue.join(subjects) else {
            return self.decide_once(charges, id, options).await;
        };
        let Ok(_turn) = options.wait_for(timeout_at(deadline, ticket.turn())).await else {
            return self.decide_once(charges, id, options).await;
        };
        loop {
            let answer = self.decide_once(charges, id, options).await?;
            let Some(pause) = pause(&answer, &charges.charges) else { return Ok(answer) };
            if Instant::now() + pause > deadline {
                return Ok(answer);
            }
            options.wait_for(sleep(pause)).await;
        }
    }
}

/// Pause before the next attempt; `None` if another attempt is of no use.
fn pause(answer: &IdempotentOutcome, charges: &[Charge<'_>]) -> Option<Duration> {
    let IdempotentOutcome::Decided(Admission { verdict, grants }) = answer else { return None };
    let wait_ms = verdict.retry_after_ms().filter(|_| *grants != Grants::TooManyOpen)?;
    let in_flight = charges.iter().flat_map(|charge| charge.limits).any(|limit| limit.needs_id());
    Some(Duration::from_millis(if in_flight { wait_ms.min(POLL_MS) } else { wait_ms }.max(1)))
}
