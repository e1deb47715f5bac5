//! Engine of [`Limiter`](crate::Limiter) and [`AsyncLimiter`](crate::AsyncLimiter): their limits
//! over a store and a clock.

use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::{Limit, LimitId, LimitKind, Verdict};

use crate::clock::Clock;
use crate::permit::{Permit, PermitError, Refundable, Signer, UnsignedPermit};
use slidegate_store::memory::PreparedLimits;
use slidegate_store::{Admission, Charge, ChargeRequest, ForgetRequest, Grants, Key, RefundScope, Store};

/// Limits over a store and a clock.
#[derive(Debug)]
pub(crate) struct Engine<S, C> {
    pub(crate) store: S,
    pub(crate) clock: C,
    pub(crate) terms: PreparedLimits<Box<[Limit]>>,
    /// Whether one of the limits is in flight, so that requests need ids.
    pub(crate) in_flight: bool,
    /// Whether charges may be given back.
    pub(crate) refundable: bool,
    pub(crate) signer: Signer,
    pub(crate) ids: AtomicU64,
    #[cfg(feature = "tokio")]
    pub(crate) queue: crate::wait_queue::WaitQueue<Key<'static>>,
}

/// Verdict on a reservation, with the permit to settle or refund it.
#[must_use]
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// Verdict.
    pub verdict: Verdict,
    /// Permit, if the request was admitted.
    pub permit: Option<Permit>,
}

impl<S, C> Engine<S, C> {
    #[inline]
    pub(crate) fn charge<'a>(&'a self, key: &'a Key<'a>, cost: u64) -> Charge<'a> {
        Charge { space: self.terms.space, key, limits: &self.terms.limits, cost }
    }

    /// Id for a request, where one is needed.
    #[inline]
    pub(crate) fn holder(&self) -> u64 {
        if self.in_flight { self.next_id() } else { 0 }
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn check_refundable(&self) -> Result<(), PermitError> {
        let gcra = self.terms.limits.iter().any(|limit| matches!(limit.kind(), LimitKind::Gcra { .. }));
        if gcra { Err(PermitError::NotRefundable) } else { Ok(()) }
    }

    pub(crate) fn reservation(
        &self,
        id: u64,
        charge: Charge<'_>,
        Admission { verdict, grants }: Admission,
    ) -> Result<Reservation, PermitError> {
        if grants == Grants::TooManyOpen {
            return Err(PermitError::TooManyOpen);
        }
        let refundable = grants.of(0).map(|grant| {
            let returns = RefundScope::Everything;
            Refundable { charge: &charge, decisions: &verdict.decisions, returns, grant }
        });
        let permit = UnsignedPermit::new(id, refundable).map(|permit| self.signer.sign(&permit));
        Ok(Reservation { verdict, permit })
    }

    pub(crate) fn limit_ids(&self) -> Vec<LimitId> {
        self.terms.limits.iter().map(Limit::id).collect()
    }

    /// Reset of a key under all limits.
    pub(crate) fn reset_of<'a>(&self, key: &'a Key<'a>, limits: &'a [LimitId]) -> ForgetRequest<'a> {
        ForgetRequest { space: self.terms.space, key, limits }
    }
}

impl<S: Store, C: Clock> Engine<S, C> {
    pub(crate) async fn decide(&self, key: &Key<'_>, cost: u64) -> Result<Verdict, S::Error> {
        let charges = [self.charge(key, cost)];
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: self.holder(), charges: &charges };
        self.store.decide(&call).await
    }
}
