//! [`Store`]: the operations of a store.

use std::future::Future;
use std::sync::Arc;

use slidegate_core::Verdict;

use crate::{
    Admission, ChargeRequest, ForgetRequest, IdempotentOutcome, Note, Notes, OnStoreError, PostOutcome,
    ReserveRequest, SettleOutcome, Settlement, Space,
};

/// Store of the state of limits, which decides atomically.
pub trait Store: Send + Sync {
    /// Failure of the store. A denial is an answer, not an error.
    type Error: std::error::Error + Send + Sync + 'static;

    /// True if the store may repeat a denial without reading the state. Then announce refundable
    /// spaces beforehand: see [`Store::expect_refunds`].
    const HAS_DENY_CACHE: bool = false;

    /// Announces a space in which charges may be given back: by permits, or because another
    /// subject of the same request denies it. Denials of such a space are never cached.
    fn expect_refunds(&self, _space: Space) {}

    /// Sets the answer for a space while the store is unavailable. Only
    /// [`Fallback`](crate::Fallback) uses it.
    fn on_store_error(&self, _space: Space, _answer: OnStoreError) {}

    /// Clears the deny cache. Call it when limits change and when the version of the [`Notes`]
    /// changes.
    fn clear_deny_cache(&self) {}

    /// Number of nodes that share each quota while the store is unavailable; see
    /// [`Source::Local`](slidegate_core::Source::Local).
    fn nodes(&self) -> u64 {
        1
    }

    /// Decides a request: charges all of it, or nothing.
    fn decide(&self, call: &ChargeRequest<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;

    /// Decides a request like [`Store::decide`], and opens permits for its charges.
    fn reserve(
        &self,
        request: &ReserveRequest<'_>,
    ) -> impl Future<Output = Result<Admission, Self::Error>> + Send;

    /// Decides a request under an idempotency key, which a trusted sender chooses. The request is
    /// charged once: the same charges under the same key get the first admission again for the
    /// shortest of their windows, at most a minute. Quotas may change meanwhile. Denials are not
    /// stored.
    fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> impl Future<Output = Result<IdempotentOutcome, Self::Error>> + Send;

    /// Replaces the recorded costs of an admitted request, once. Returns one outcome per subject of
    /// the settlement, in order: each subject is settled by itself.
    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Vec<SettleOutcome>, Self::Error>> + Send;

    /// Gives units back without a permit, the oldest first and never below zero;
    /// [`Charge::cost`](crate::Charge::cost) is the number of units. Returns the state afterwards,
    /// as a peek (cost 0) does. In-flight slots stay taken. Atomic per subject, not across
    /// subjects. Call [`Store::expect_refunds`] for the space first: otherwise a cached denial may
    /// be repeated that no longer applies.
    fn give_back(
        &self,
        call: &ChargeRequest<'_>,
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send;

    /// Deletes the state of a subject under these limits. Its open permits become void. Answers
    /// under idempotency keys stay, so that a repeated request is still charged once.
    fn forget(&self, subject: &ForgetRequest<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Stores a note, which every process with this store can read. Replaces a note of the same id
    /// and deletes expired ones: by the store's clock, or by `now_ms` if it has none.
    fn post(&self, note: &Note, now_ms: u64)
    -> impl Future<Output = Result<PostOutcome, Self::Error>> + Send;

    /// Deletes a note; returns whether it existed.
    fn withdraw(&self, id: &str) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Returns all notes.
    fn notes(&self) -> impl Future<Output = Result<Notes, Self::Error>> + Send;
}

/// Shared store: limiters of different names may use one; see `Builder::store`.
impl<S: Store> Store for Arc<S> {
    type Error = S::Error;

    const HAS_DENY_CACHE: bool = S::HAS_DENY_CACHE;

    fn expect_refunds(&self, space: Space) {
        S::expect_refunds(self, space);
    }

    fn on_store_error(&self, space: Space, answer: OnStoreError) {
        S::on_store_error(self, space, answer);
    }

    fn clear_deny_cache(&self) {
        S::clear_deny_cache(self);
    }

    fn nodes(&self) -> u64 {
        S::nodes(self)
    }

    fn decide(&self, call: &ChargeRequest<'_>) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::decide(self, call)
    }

    fn reserve(
        &self,
        request: &ReserveRequest<'_>,
    ) -> impl Future<Output = Result<Admission, Self::Error>> + Send {
        S::reserve(self, request)
    }

    fn decide_idempotent(
        &self,
        request: &ReserveRequest<'_>,
        idempotency_key: &[u8],
    ) -> impl Future<Output = Result<IdempotentOutcome, Self::Error>> + Send {
        S::decide_idempotent(self, request, idempotency_key)
    }

    fn settle(
        &self,
        settlement: &Settlement<'_>,
    ) -> impl Future<Output = Result<Vec<SettleOutcome>, Self::Error>> + Send {
        S::settle(self, settlement)
    }

    fn give_back(
        &self,
        call: &ChargeRequest<'_>,
    ) -> impl Future<Output = Result<Verdict, Self::Error>> + Send {
        S::give_back(self, call)
    }

    fn forget(&self, subject: &ForgetRequest<'_>) -> impl Future<Output = Result<(), Self::Error>> + Send {
        S::forget(self, subject)
    }

    fn post(
        &self,
        note: &Note,
        now_ms: u64,
    ) -> impl Future<Output = Result<PostOutcome, Self::Error>> + Send {
        S::post(self, note, now_ms)
    }

    fn withdraw(&self, id: &str) -> impl Future<Output = Result<bool, Self::Error>> + Send {
        S::withdraw(self, id)
    }

    fn notes(&self) -> impl Future<Output = Result<Notes, Self::Error>> + Send {
        S::notes(self)
    }
}
