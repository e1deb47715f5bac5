//! Stores behind one interface, which decide at the time that the test sets.

use slidegate::store::{ChargeRequest, ForgetRequest, Settlement};
use slidegate::{
    Admission, IdempotentOutcome, Limit, Limiter, ManualClock, Memory, ReserveRequest, SettleOutcome, Verdict,
};

#[cfg(feature = "redis")]
mod redis;

#[cfg(feature = "redis")]
pub(crate) use redis::RedisDriver;

/// A store as a test calls it.
pub(crate) trait Driver {
    fn decide(&self, call: &ChargeRequest<'_>) -> Verdict;

    fn reserve(&self, request: &ReserveRequest<'_>) -> Admission;

    /// A request under an idempotency key.
    fn once(&self, request: &ReserveRequest<'_>, name: &str) -> IdempotentOutcome;

    fn settle(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome>;

    fn give_back(&self, call: &ChargeRequest<'_>) -> Verdict;

    fn forget(&self, subject: &ForgetRequest<'_>);

    /// The limiter's answer, where there is one with these limits.
    fn limiter(&self, _limits: &[Limit], _key: &str, _cost: u64, _now_ms: u64) -> Option<Verdict> {
        None
    }
}

/// The in-memory store, with a limiter on it.
pub(crate) struct MemoryDriver {
    clock: ManualClock,
    limiter: Limiter<Memory, ManualClock>,
}

impl MemoryDriver {
    pub(crate) fn new(limits: &[Limit]) -> Self {
        let clock = ManualClock::new(0);
        let builder = Limiter::builder(limits.iter().copied()).max_memory(1 << 20).clock(clock.clone());
        Self { clock, limiter: builder.build().expect("limits that can stand side by side") }
    }
}

impl Driver for MemoryDriver {
    fn decide(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.limiter.store().decide_now(call)
    }

    fn reserve(&self, request: &ReserveRequest<'_>) -> Admission {
        self.limiter.store().reserve_now(request)
    }

    fn once(&self, request: &ReserveRequest<'_>, name: &str) -> IdempotentOutcome {
        self.limiter.store().decide_idempotent_now(request, name.as_bytes())
    }

    fn settle(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome> {
        self.limiter.store().settle_now(settlement)
    }

    fn give_back(&self, call: &ChargeRequest<'_>) -> Verdict {
        self.limiter.store().give_back_now(call)
    }

    fn forget(&self, subject: &ForgetRequest<'_>) {
        self.limiter.store().forget_now(subject);
    }

    fn limiter(&self, limits: &[Limit], key: &str, cost: u64, now_ms: u64) -> Option<Verdict> {
        if limits != self.limiter.limits() {
            return None;
        }
        self.clock.set_ms(now_ms);
        Some(self.limiter.check_n(key, cost))
    }
}
