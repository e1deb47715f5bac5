//! Leases on every server that is supported: the golden traces, and random operations beside the
//! core.

use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRequest, ForgetRequest, LeaseStore, LeaseSubject};
use slidegate::{Key, Limit, Redis, Space, Store};
use slidegate_testkit::leases::{LeaseAnswer, LeaseOperation, decision};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::runtime::{Builder, Runtime};

use crate::leases::{compare, run_traces};

/// Answers of a server, by the caller's clock. Every key is a new one.
struct LeaseServer {
    runtime: Runtime,
    store: Redis,
    keys: std::cell::Cell<u64>,
}

impl LeaseServer {
    fn new(server: &RedisServer) -> Self {
        let config = RedisConfig::parse(&server.url()).expect("a URL");
        // Denials are not to be repeated by the cache, and a busy machine is no failure.
        let config = config.deny_cache(Duration::ZERO).timeout(Duration::from_secs(20));
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { runtime, store: Redis::by_callers_clock(&config), keys: std::cell::Cell::new(0) }
    }

    fn another(&self) -> impl FnMut(&Limit, LeaseOperation, u64) -> LeaseAnswer {
        self.keys.set(self.keys.get() + 1);
        let name = format!("key {}", self.keys.get());
        move |limit, operation, now_ms| self.answer(&Key::from(name.as_str()), limit, operation, now_ms)
    }

    fn answer(&self, key: &Key<'_>, limit: &Limit, operation: LeaseOperation, now_ms: u64) -> LeaseAnswer {
        let (space, limits) = (Space::named("leases"), [*limit]);
        let subject = LeaseSubject::new(space, key, *limit).expect("a log");
        let call = |cost| [Charge { space, key, limits: &limits, cost }];
        self.runtime.block_on(async {
            match operation {
                LeaseOperation::Lease(request) => {
                    LeaseAnswer::Lease(self.store.lease(&subject, &request, now_ms).await.expect("an answer"))
                }
                LeaseOperation::Close(close) => LeaseAnswer::Closed(
                    self.store.close_lease(&subject, &close, now_ms).await.expect("an answer"),
                ),
                LeaseOperation::Check { cost, prepayment } => {
                    let call = ChargeRequest { now_ms, holder: 0, charges: &call(cost) };
                    let verdict = match prepayment {
                        Some(_) => self.store.decide_prepaid(&call, &[prepayment]).await,
                        None => self.store.decide(&call).await,
                    };
                    decision(verdict.expect("a decision").decisions[0])
                }
                LeaseOperation::GiveBack(units) => {
                    let call = ChargeRequest { now_ms, holder: 0, charges: &call(units) };
                    decision(self.store.give_back(&call).await.expect("an answer").decisions[0])
                }
                LeaseOperation::Reset => {
                    let subject = ForgetRequest { space, key, limits: &[limit.id()] };
                    self.store.forget(&subject).await.expect("an answer");
                    LeaseAnswer::Reset
                }
            }
        })
    }
}

#[test]
fn every_server_answers_every_trace() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = LeaseServer::new(&server);
        run_traces(|| store.another());
    }
}

#[test]
fn every_server_answers_as_the_core() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = LeaseServer::new(&server);
        compare(40, || store.another());
    }
}
