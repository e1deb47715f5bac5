//! Limiter over the memory of this process: every operation answers synchronously.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use slidegate_core::{Limit, Verdict};

use crate::async_limiter::AsyncLimiter;
use crate::builder::Builder;
use crate::clock::{Clock, SystemClock};
use crate::engine::{Engine, Reservation};
use crate::permit::{Permit, PermitError};
use slidegate_store::memory::{Memory, SnapshotError};
use slidegate_store::{ChargeRequest, Key, RefundScope, ReserveRequest, SettleOutcome, Store};

/// Rate limiter in memory, with one or more limits per key.
///
/// ```
/// use slidegate::{Limit, Limiter};
///
/// let limiter = Limiter::new([Limit::per_second(10), "600/min".parse()?])?;
/// let verdict = limiter.check("alice");
/// assert!(verdict.is_allowed());
/// assert_eq!(verdict.remaining(), Some(9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share one state and cost a reference count. [`AsyncLimiter`] has the same operations, as
/// `async` functions, over any [`Store`].
pub struct Limiter<S = Memory, C = SystemClock>(pub(crate) Arc<Engine<S, C>>);

impl<S, C> Clone for Limiter<S, C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: fmt::Debug, C: fmt::Debug> fmt::Debug for Limiter<S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Limiter").field(&self.0).finish()
    }
}

impl Limiter {
    /// Limiter in memory, with the system clock.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Result<Self, crate::BuildError> {
        Self::builder(limits).build()
    }

    /// Builder for other settings.
    pub fn builder(limits: impl IntoIterator<Item = Limit>) -> Builder {
        Builder::new(limits)
    }
}

impl<S, C> Limiter<S, C> {
    /// Limits, in the order of a verdict's decisions.
    pub fn limits(&self) -> &[Limit] {
        &self.0.terms.limits
    }

    /// Store with the state.
    pub fn store(&self) -> &S {
        &self.0.store
    }

    /// The same limiter with `async` functions, for code that works over any store.
    pub fn to_async(&self) -> AsyncLimiter<S, C> {
        AsyncLimiter(Arc::clone(&self.0))
    }
}

impl<S: Store<Error = Infallible> + AsRef<Memory>, C: Clock> Limiter<S, C> {
    /// Requests one unit.
    #[inline(always)]
    pub fn check<'k>(&self, key: impl Into<Key<'k>>) -> Verdict {
        self.check_n(key, 1)
    }

    /// Requests `cost` units: all of them, or none.
    #[inline(always)]
    pub fn check_n<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Verdict {
        let engine = &*self.0;
        let attempt = (engine.clock.now_ms(), cost);
        engine.store.as_ref().decide_subject(&key.into(), &engine.terms, attempt, engine.holder())
    }

    /// Reads the numbers of a key without charging it.
    pub fn peek<'k>(&self, key: impl Into<Key<'k>>) -> Verdict {
        self.check_n(key, 0)
    }

    /// Requests `cost` units with a permit, to settle or refund them later.
    pub fn reserve<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Reservation, PermitError> {
        let engine = &*self.0;
        engine.check_refundable()?;
        let (key, id) = (key.into(), engine.next_id());
        let charges = [engine.charge(&key, cost)];
        let call = ChargeRequest { now_ms: engine.clock.now_ms(), holder: id, charges: &charges };
        let admission = engine
            .store
            .as_ref()
            .reserve_now(&ReserveRequest { charge: call, refunds: &[RefundScope::Everything] });
        engine.reservation(id, charges[0], admission)
    }

    /// Replaces a reserved cost by the actual one, even beyond the quota.
    pub fn settle(&self, permit: &Permit, cost: u64) -> Result<SettleOutcome, PermitError> {
        let engine = &*self.0;
        let settlement = engine.signer.open(permit, cost, engine.clock.now_ms())?;
        Ok(SettleOutcome::of_all(&engine.store.as_ref().settle_now(&settlement)))
    }

    /// Gives back a reserved cost, or releases a slot in flight.
    pub fn refund(&self, permit: &Permit) -> Result<SettleOutcome, PermitError> {
        self.settle(permit, 0)
    }

    /// Deletes the state of a key: it has its whole quota again, and its permits are void.
    pub fn reset<'k>(&self, key: impl Into<Key<'k>>) {
        let key = key.into();
        let limits = self.0.limit_ids();
        self.0.store.as_ref().forget_now(&self.0.reset_of(&key, &limits));
    }

    /// Writes all live state to a file; [`Builder::load`] reads it.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        self.0.store.as_ref().save(path.as_ref(), self.0.clock.now_ms())
    }
}
