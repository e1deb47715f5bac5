//! The limiter that a program holds: limits, over a store and a clock.

use std::convert::Infallible;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use slidegate_core::{Limit, LimitKind, Verdict};

use crate::builder::Builder;
use crate::clock::{Clock, SystemClock};
use crate::permit::{Permit, PermitError, Refundable, Signer};
use slidegate_store::Key;
use slidegate_store::memory::{Memory, PreparedLimits, SnapshotError};
use slidegate_store::{
    Admission, Charge, ChargeRequest, Grants, RefundScope, ReserveRequest, SettleOutcome, Store,
};

/// Decides requests by key, under one or several limits at once.
///
/// ```
/// use slidegate::{Limit, Limiter};
///
/// let limiter = Limiter::new([Limit::per_second(10), "600/min".parse()?])?;
/// let verdict = limiter.check_now("alice");
/// assert!(verdict.is_allowed());
/// assert_eq!(verdict.remaining(), Some(9));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// With the in-memory store every verb has a form that answers at once (`check_now`); `check` and its like work over
/// every [`Store`].
#[derive(Debug)]
pub struct Limiter<S = Memory, C = SystemClock> {
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
    pub(crate) lines: crate::wait_queue::Lines<Key<'static>>,
}

/// An answer, and what it takes to give an admission back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reservation {
    /// The answer.
    pub verdict: Verdict,
    /// The permit, if the request was admitted.
    pub permit: Option<Permit>,
}

/// What can go wrong with a permit: the permit, or the store.
#[derive(Debug, thiserror::Error)]
pub enum CallError<E> {
    /// The permit is not accepted.
    #[error(transparent)]
    Permit(#[from] PermitError),
    /// The store did not answer.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

impl Limiter {
    /// A limiter in memory, by the system's clock.
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Result<Self, crate::BuildError> {
        Self::builder(limits).build()
    }

    /// A limiter with other settings.
    pub fn builder(limits: impl IntoIterator<Item = Limit>) -> Builder {
        Builder::new(limits)
    }
}

impl<S, C> Limiter<S, C> {
    /// Its limits, in the order of a verdict's decisions.
    pub fn limits(&self) -> &[Limit] {
        &self.terms.limits
    }

    /// Where it keeps its state.
    pub fn store(&self) -> &S {
        &self.store
    }

    #[inline]
    fn charge_on<'a>(&'a self, key: &'a Key<'a>, cost: u64) -> Charge<'a> {
        Charge { space: self.terms.space, key, limits: &self.terms.limits, cost }
    }

    /// An id for this request, where one is needed.
    #[inline]
    fn holder(&self) -> u64 {
        if self.in_flight { self.next_id() } else { 0 }
    }

    fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    fn check_refundable(&self) -> Result<(), PermitError> {
        let gcra = self.terms.limits.iter().any(|limit| matches!(limit.kind(), LimitKind::Gcra { .. }));
        if gcra { Err(PermitError::NotRefundable) } else { Ok(()) }
    }

    fn reservation(&self, id: u64, charge: Charge<'_>, admission: Admission) -> Reservation {
        let Admission { verdict, grants: granted } = admission;
        let refundable = granted.of(0).map(|grant| {
            let returns = RefundScope::Everything;
            Refundable { charge: &charge, decisions: &verdict.decisions, returns, grant }
        });
        let permit = self.signer.issue(id, refundable);
        Reservation { verdict, permit }
    }
}

impl<S: Store, C: Clock> Limiter<S, C> {
    /// Asks for one unit.
    pub async fn check<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.charge(key, 1).await
    }

    /// Asks for `cost` units: all of them, or none.
    pub async fn charge<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Verdict, S::Error> {
        let key = key.into();
        let charges = [self.charge_on(&key, cost)];
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: self.holder(), charges: &charges };
        self.store.decide(&call).await
    }

    /// Looks without asking: where the key stands.
    pub async fn peek<'k>(&self, key: impl Into<Key<'k>>) -> Result<Verdict, S::Error> {
        self.charge(key, 0).await
    }

    /// Asks for `cost` units with a permit, to refund or settle them later.
    pub async fn reserve<'k>(
        &self,
        key: impl Into<Key<'k>>,
        cost: u64,
    ) -> Result<Reservation, CallError<S::Error>> {
        self.check_refundable()?;
        // Places in flight are never remembered as taken.
        if S::HAS_DENY_CACHE && !self.refundable && !self.limits().iter().all(Limit::needs_id) {
            return Err(PermitError::NotDeclared.into());
        }
        let (key, id) = (key.into(), self.next_id());
        let charges = [self.charge_on(&key, cost)];
        let call = ChargeRequest { now_ms: self.clock.now_ms(), holder: id, charges: &charges };
        let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
        let admission = self.store.reserve(&request).await.map_err(CallError::Store)?;
        if admission.grants == Grants::TooManyOpen {
            return Err(PermitError::TooManyOpen.into());
        }
        Ok(self.reservation(id, charges[0], admission))
    }

    /// Replaces what was reserved by what it really cost, even beyond the quota.
    pub async fn settle(&self, permit: &Permit, cost: u64) -> Result<SettleOutcome, CallError<S::Error>> {
        let settlement = self.signer.open(permit, cost, self.clock.now_ms())?;
        let parts = self.store.settle(&settlement).await.map_err(CallError::Store)?;
        Ok(SettleOutcome::of_all(&parts))
    }

    /// Gives back what was reserved, or releases what is held in flight.
    pub async fn refund(&self, permit: &Permit) -> Result<SettleOutcome, CallError<S::Error>> {
        self.settle(permit, 0).await
    }
}

impl<S: Store<Error = Infallible> + AsRef<Memory>, C: Clock> Limiter<S, C> {
    /// Asks for one unit, at once.
    #[inline(always)]
    pub fn check_now<'k>(&self, key: impl Into<Key<'k>>) -> Verdict {
        self.charge_now(key, 1)
    }

    /// Asks for `cost` units, at once: all of them, or none.
    #[inline(always)]
    pub fn charge_now<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Verdict {
        let asked = (self.clock.now_ms(), cost);
        self.store.as_ref().decide_subject(&key.into(), &self.terms, asked, self.holder())
    }

    /// Looks without asking, at once.
    pub fn peek_now<'k>(&self, key: impl Into<Key<'k>>) -> Verdict {
        self.charge_now(key, 0)
    }

    /// Asks for `cost` units with a permit, at once.
    pub fn reserve_now<'k>(&self, key: impl Into<Key<'k>>, cost: u64) -> Result<Reservation, PermitError> {
        ready(self.reserve(key, cost))
    }

    /// Replaces what was reserved by what it really cost, at once.
    pub fn settle_now(&self, permit: &Permit, cost: u64) -> Result<SettleOutcome, PermitError> {
        ready(self.settle(permit, cost))
    }

    /// Gives back what was reserved, or releases what is held in flight, at once.
    pub fn refund_now(&self, permit: &Permit) -> Result<SettleOutcome, PermitError> {
        self.settle_now(permit, 0)
    }

    /// Writes everything that is remembered to a file; see [`Builder::load`](crate::Builder::load).
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), SnapshotError> {
        self.store.as_ref().save(path.as_ref(), self.clock.now_ms())
    }
}

/// The answer of a call to the in-memory store, which never waits and never fails.
fn ready<T>(call: impl Future<Output = Result<T, CallError<Infallible>>>) -> Result<T, PermitError> {
    let mut call = std::pin::pin!(call);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match call.as_mut().poll(&mut context) {
        std::task::Poll::Ready(Ok(answer)) => Ok(answer),
        std::task::Poll::Ready(Err(CallError::Permit(error))) => Err(error),
        std::task::Poll::Ready(Err(CallError::Store(never))) => match never {},
        std::task::Poll::Pending => unreachable!("the in-memory store answers at once"),
    }
}
