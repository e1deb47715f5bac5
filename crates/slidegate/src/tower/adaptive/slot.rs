//! Slot of a request that runs, until its response ends.

use std::sync::Arc;

use ::http::Response;
use tokio::time::Instant;

use super::AdaptiveOptions;
use crate::adaptive::{AdaptiveLimiter, ConcurrencySlot, RequestCompletion};
use crate::tower::body::{LimitedBody, ResponseGuard};
use crate::tower::future::ResponseAdmission;

/// Slot that is released when this is dropped.
#[derive(Debug)]
pub(super) struct SlotGuard {
    limiter: Arc<AdaptiveLimiter>,
    /// Taken when it is released.
    slot: Option<ConcurrencySlot>,
}

impl SlotGuard {
    /// Slot of a partition, or `None` if the limit is reached.
    pub(super) fn acquire(limiter: &Arc<AdaptiveLimiter>, partition: &str) -> Option<Self> {
        let slot = limiter.try_acquire(partition, now())?;
        Some(Self { limiter: Arc::clone(limiter), slot: Some(slot) })
    }

    fn record(&mut self, completion: RequestCompletion) {
        if let Some(slot) = &mut self.slot {
            self.limiter.record(slot, now(), completion);
        }
    }
}

/// Time of the runtime, which tests can pause.
fn now() -> std::time::Instant {
    Instant::now().into_std()
}

impl ResponseGuard for SlotGuard {}

impl Drop for SlotGuard {
    /// Without a record, the request was cancelled or panicked: that says nothing about load.
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take() {
            self.limiter.release(slot, now(), RequestCompletion::Ignored);
        }
    }
}

/// Admission of a request by an adaptive limiter.
pub struct SlotAdmission {
    pub(super) guard: SlotGuard,
    pub(super) options: Arc<AdaptiveOptions>,
}

impl ResponseAdmission for SlotAdmission {
    fn finish<B, E>(mut self, result: Result<Response<B>, E>) -> Result<Response<LimitedBody<B>>, E> {
        match result {
            Ok(response) => {
                let (head, body) = response.into_parts();
                self.guard.record((self.options.completion)(&head));
                let guard: Arc<dyn ResponseGuard> = Arc::new(self.guard);
                Ok(Response::from_parts(head, LimitedBody::of_service(body, Some(guard))))
            }
            Err(error) => {
                self.guard.record(self.options.error_completion);
                Err(error)
            }
        }
    }
}
