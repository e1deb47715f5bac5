//! The store in Redis, by the caller's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, ForgetRequest, Settlement};
use slidegate::{Admission, IdempotentOutcome, Redis, ReserveRequest, SettleOutcome, Space, Store, Verdict};
use tokio::runtime::Runtime;

use super::Driver;

/// A part of a server that nobody else sees: its spaces have names of their own.
pub(crate) struct RedisDriver {
    runtime: Arc<Runtime>,
    store: Redis,
    part: Arc<AtomicU64>,
    space: Space,
}

impl RedisDriver {
    pub(crate) fn new(config: RedisConfig) -> Self {
        // Denials are not to be repeated without asking, and a busy machine is no failure.
        let config = config.deny_cache(Duration::ZERO).timeout(Duration::from_secs(20));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        Self {
            runtime: Arc::new(runtime.expect("a runtime")),
            store: Redis::by_callers_clock(&config),
            part: Arc::default(),
            space: Space::named("0"),
        }
    }

    /// Another part, where nothing was ever seen.
    pub(crate) fn another(&self) -> Self {
        let number = self.part.fetch_add(1, Ordering::Relaxed) + 1;
        let (runtime, store, part) = (self.runtime.clone(), self.store.clone(), self.part.clone());
        Self { runtime, store, part, space: Space::named(&number.to_string()) }
    }

    /// The charges of a call, in this part.
    fn here<'a>(&self, call: &ChargeRequest<'a>) -> Vec<Charge<'a>> {
        call.charges.iter().map(|charge| Charge { space: self.space, ..*charge }).collect()
    }
}

impl Driver for RedisDriver {
    fn decide(&self, call: &ChargeRequest<'_>) -> Verdict {
        let charges = self.here(call);
        self.runtime
            .block_on(self.store.decide(&ChargeRequest { charges: &charges, ..*call }))
            .expect("a decision")
    }

    fn reserve(&self, request: &ReserveRequest<'_>) -> Admission {
        let charges = self.here(&request.charge);
        let call = ChargeRequest { charges: &charges, ..request.charge };
        self.runtime
            .block_on(self.store.reserve(&ReserveRequest { charge: call, ..*request }))
            .expect("a decision")
    }

    fn once(&self, request: &ReserveRequest<'_>, name: &str) -> IdempotentOutcome {
        let charges = self.here(&request.charge);
        let request =
            ReserveRequest { charge: ChargeRequest { charges: &charges, ..request.charge }, ..*request };
        // Keys are the sender's, whatever is charged: here every part is a sender.
        let name = format!("{:?} {name}", self.space);
        self.runtime.block_on(self.store.decide_idempotent(&request, name.as_bytes())).expect("a decision")
    }

    fn settle(&self, settlement: &Settlement<'_>) -> Vec<SettleOutcome> {
        let subjects = settlement.subjects.iter().cloned();
        let subjects = subjects.map(|subject| ChargeRecord { space: self.space, ..subject }).collect();
        let settlement = Settlement { subjects, ..*settlement };
        self.runtime.block_on(self.store.settle(&settlement)).expect("a settlement")
    }

    fn give_back(&self, call: &ChargeRequest<'_>) -> Verdict {
        let charges = self.here(call);
        self.runtime
            .block_on(self.store.give_back(&ChargeRequest { charges: &charges, ..*call }))
            .expect("an answer")
    }

    fn forget(&self, subject: &ForgetRequest<'_>) {
        let subject = ForgetRequest { space: self.space, ..*subject };
        self.runtime.block_on(self.store.forget(&subject)).expect("an answer");
    }
}
