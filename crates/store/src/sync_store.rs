//! Stores that decide without waiting.

use std::sync::Arc;

use slidegate_core::Verdict;

use crate::{ChargeRequest, Memory, Store};

/// Store that can decide without a future: in memory, or as one of several backends.
pub trait SyncStore: Store {
    /// Whether [`SyncStore::try_decide_now`] decides.
    fn is_sync(&self) -> bool;

    /// [`Store::decide`] without waiting. `None`, and nothing is decided, unless [`SyncStore::is_sync`].
    fn try_decide_now(&self, call: &ChargeRequest<'_>) -> Option<Verdict>;
}

impl SyncStore for Memory {
    #[inline]
    fn is_sync(&self) -> bool {
        true
    }

    #[inline]
    fn try_decide_now(&self, call: &ChargeRequest<'_>) -> Option<Verdict> {
        Some(self.decide_now(call))
    }
}

impl<S: SyncStore> SyncStore for Arc<S> {
    #[inline]
    fn is_sync(&self) -> bool {
        S::is_sync(self)
    }

    #[inline]
    fn try_decide_now(&self, call: &ChargeRequest<'_>) -> Option<Verdict> {
        S::try_decide_now(self, call)
    }
}
