//! Limiter over any store: every operation is an `async` function.

use std::fmt;
use std::sync::Arc;

use slidegate_core::{Limit, Verdict};

use crate::clock::{Clock, SystemClock};
use crate::engine::{Engine, Reservation};
use crate::permit::{Permit, PermitError};
use slidegate_store::{ChargeRequest, Key, RefundScope, ReserveRequest, SettleOutcome, Store};

/// Rate limiter over any [`Store`], with the operations of [`Limiter`](crate::Limiter) as `async`
/// functions. [`Builder::build_async`](crate::Builder::build_async) creates one.
///
/// Clones share one state and cost a reference count.
pub struct AsyncLimiter<S, C = SystemClock>(pub(crate) Arc<Engine<S, C>>);

/// Error of an operation with a permit.
#[derive(Debug, thiserror::Error)]
pub enum CallError<E> {
    /// The permit is not accepted.
    #[error(transparent)]
    Permit(#[from] PermitError),
    /// The store did not answer.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

impl<S, C> Clone for AsyncLimiter<S, C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: fmt::Debug, C: fmt::Debug> fmt::Debug for AsyncLimiter<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsyncLimiter").field(&self.0).finish()
    }
}

impl<S, C> AsyncLimiter<S, C> {
    /// Limits, in the order of a verdict's decisions.
    pub fn limits(&self) -> &[Limit] {
        &self.0.terms.limits
    }

    /// Store with the state.
    pub fn store(&self) -> &S {
        &self.0.store
    }
}

impl<S: Store, C: Clock> AsyncLimiter<S, C> {
    /// Requests one unit.
    pub async fn check<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.check_n(key, 1).await
    }

    /// Requests `cost` units: all of them, or none.
    pub async fn check_n<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Verdict, S::Error> {
        self.0.decide(&key.into(), cost).await
    }

    /// Reads the numbers of a key without charging it.
    pub async fn peek<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.check_n(key, 0).await
    }

    /// Requests `cost` units with a permit, to settle or refund them later.
    pub async fn reserve<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Reservation, CallError<S::Error>> {
        let engine = &*self.0;
        engine.check_refundable()?;
        // A deny cache never has denials for want of slots in flight.
        if S::HAS_DENY_CACHE && !engine.refundable && !self.limits().iter().all(Limit::needs_id) {
            return Err(PermitError::NotDeclared.into());
        }
        let (key, id) = (key.into(), engine.next_id());
        let charges = [engine.charge(&key, cost)];
        let call = ChargeRequest { now_ms: engine.clock.now_ms(), holder: id, charges: &charges };
        let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
        let admission = engine.store.reserve(&request).await.map_err(CallError::Store)?;
        Ok(engine.reservation(id, charges[0], admission)?)
    }

    /// Replaces a reserved cost by the actual one, even beyond the quota.
    pub async fn settle(&self, permit: &Permit, cost: u64) -> Result<SettleOutcome, CallError<S::Error>> {
        let settlement = self.0.signer.open(permit, cost, self.0.clock.now_ms())?;
        let outcomes = self.0.store.settle(&settlement).await.map_err(CallError::Store)?;
        Ok(SettleOutcome::of_all(&outcomes))
    }

    /// Gives back a reserved cost, or releases a slot in flight.
    pub async fn refund(&self, permit: &Permit) -> Result<SettleOutcome, CallError<S::Error>> {
        self.settle(permit, 0).await
    }

    /// Deletes the state of a key: it has its whole quota again, and its permits are void. The deny
    /// caches of other nodes may repeat an earlier denial for as long as they last.
    pub async fn reset<'k>(&self, key: impl Into<Key<'k>>) -> Result<(), S::Error> {
        let key = key.into();
        self.0.store.clear_deny_cache();
        let limits = self.0.limit_ids();
        self.0.store.forget(&self.0.reset_of(&key, &limits)).await
    }
}
