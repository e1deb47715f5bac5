//! Charge of a request that runs: settled when the response ends.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::body::ResponseGuard;
use crate::clock::Clock;
use crate::gate::Gate;
use crate::permit::UnsignedPermit;
use slidegate_store::SyncStore;

/// Charge of the current request, a request extension of requests that a `refundable` rule or an
/// in-flight limit admitted.
///
/// The charge ends with the response body, or when the client goes away: slots in flight are released
/// then, and the cost is settled.
#[derive(Clone, Debug)]
pub struct ChargeHandle(Weak<dyn OpenCharge>);

/// Charge that outlasts the response, until this is dropped. See [`ChargeHandle::keep`].
#[derive(Clone, Debug)]
pub struct ChargeGuard(Arc<dyn OpenCharge>);

impl ChargeHandle {
    pub(super) fn new(charge: &Arc<dyn OpenCharge>) -> Self {
        Self(Arc::downgrade(charge))
    }

    /// Sets the actual cost, which replaces the estimate when the response ends. Without it the
    /// estimate stands. Returns `false` if the response has ended already.
    pub fn settle(&self, cost: u64) -> bool {
        let charge = self.0.upgrade();
        if let Some(charge) = &charge {
            charge.set_cost(cost);
        }
        charge.is_some()
    }

    /// Keeps the charge beyond the response, for an upgraded connection: its slot in flight is released
    /// when the returned value is dropped. `None` if the response has ended already.
    pub fn keep(&self) -> Option<ChargeGuard> {
        self.0.upgrade().map(ChargeGuard)
    }
}

impl ChargeGuard {
    /// Sets the actual cost, as [`ChargeHandle::settle`] does.
    pub fn settle(&self, cost: u64) {
        self.0.set_cost(cost);
    }
}

/// Charge that is settled when it is dropped.
pub(super) trait OpenCharge: ResponseGuard {
    /// Sets the cost to settle.
    fn set_cost(&self, cost: u64);
}

/// [`OpenCharge`] of a gate.
pub(super) struct GateCharge<S: SyncStore + 'static, C: Clock + 'static> {
    gate: Arc<Gate<S, C>>,
    /// Taken when it is settled.
    permit: Option<UnsignedPermit>,
    cost: AtomicU64,
}

impl<S: SyncStore + 'static, C: Clock + 'static> GateCharge<S, C> {
    pub(super) fn open(gate: Arc<Gate<S, C>>, permit: UnsignedPermit, cost: u64) -> Arc<dyn OpenCharge> {
        Arc::new(Self { gate, permit: Some(permit), cost: AtomicU64::new(cost) })
    }
}

impl<S: SyncStore + 'static, C: Clock + 'static> ResponseGuard for GateCharge<S, C> {}

impl<S: SyncStore + 'static, C: Clock + 'static> OpenCharge for GateCharge<S, C> {
    fn set_cost(&self, cost: u64) {
        self.cost.store(cost, Ordering::Relaxed);
    }
}

impl<S: SyncStore + 'static, C: Clock + 'static> std::fmt::Debug for GateCharge<S, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GateCharge").field("cost", &self.cost).finish_non_exhaustive()
    }
}

impl<S: SyncStore + 'static, C: Clock + 'static> Drop for GateCharge<S, C> {
    /// Settles in memory, or in a task where the store has to wait. Outside of a runtime, as when it
    /// shuts down, slots in flight end with their hold.
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let cost = *self.cost.get_mut();
        if self.gate.close_now(&permit, cost) {
            return;
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let gate = Arc::clone(&self.gate);
        runtime.spawn(async move {
            if let Err(error) = gate.settle_unsigned(&permit, cost).await {
                tracing::warn!(%error, "a charge was not settled; its slot in flight ends with its hold");
            }
        });
    }
}
