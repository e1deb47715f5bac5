//! Requests of every size: scripts are written for any number of limits, and Lua has bounds of its
//! own.

use std::time::Duration;

use slidegate::store::redis::{RedisConfig, RedisError};
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    Admission, IdempotentOutcome, Key, Limit, LimitKind, Redis, RefundScope, ReserveRequest, SettleOutcome,
    Space, Store,
};
use slidegate_core::Receipt;
use slidegate_testkit::servers::{Flavour, RedisServer};

/// The most that one script decides.
const MOST: usize = 64;

fn kinds() -> [Limit; 5] {
    let log = Limit::per_hour(5);
    let other = [log.counter(), log.fixed(), log.gcra(5), Limit::in_flight(5, Duration::from_secs(60))];
    let [counter, fixed, gcra, in_flight] = other.map(|limit| limit.expect("a limit"));
    [log, counter, fixed, gcra, in_flight]
}

/// Charges all limits in every way there is, and gives back what can be given back.
async fn exercise(store: &Redis, key: &Key<'_>, limits: &[Limit]) {
    let space = Space::named("sizes");
    let id = 7;
    for cost in [0, 1, 2] {
        let charges = [Charge { space, key, limits, cost }];
        let call = ChargeRequest { now_ms: 0, holder: id, charges: &charges };
        let verdict = store.decide(&call).await.expect("a decision");
        assert!(verdict.is_allowed(), "{} of {}: {verdict:?}", limits.len(), limits[0]);
    }
    let charges = [Charge { space, key, limits, cost: 1 }];
    let call = ChargeRequest { now_ms: 0, holder: id + 1, charges: &charges };
    let idempotency_key = format!("{key:?}");
    let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
    let once = store.decide_idempotent(&request, idempotency_key.as_bytes()).await.expect("a decision");
    let IdempotentOutcome::Decided(Admission { verdict, grants: granted }) = once else { panic!("{once:?}") };
    assert_eq!(verdict.remaining(), Some(1));
    let receipts = limits.iter().zip(verdict.decisions.iter()).map(|(limit, decision)| {
        (limit.id(), Receipt { stamp_ms: decision.stamp_ms, cost: 1, holder: id + 1 })
    });
    // A meter keeps nothing that could be given back.
    let Some(grant) = granted.of(0) else {
        return assert!(matches!(limits[0].kind(), LimitKind::Gcra { .. }));
    };
    let subject = ChargeRecord { space, key: key.clone(), grant, receipts: receipts.collect() };
    let settlement = Settlement { now_ms: 0, id: id + 1, cost: 0, slots: 0, subjects: vec![subject] };
    assert_eq!(store.settle(&settlement).await.expect("a settlement"), [SettleOutcome::Settled]);
}

#[tokio::test]
async fn requests_may_have_any_number_of_limits() {
    let server = RedisServer::start(Flavour::Redis70);
    let config = RedisConfig::parse(&server.url()).expect("a URL").timeout(Duration::from_secs(20));
    let store = Redis::new(&config);
    for kind in kinds() {
        for size in 1..=MOST {
            let limits: Vec<Limit> = (0..size).map(|n| kind.named(&n.to_string())).collect();
            exercise(&store, &Key::from((kind.to_string().as_str(), size)), &limits).await;
        }
    }
}

#[tokio::test]
async fn more_limits_than_a_script_decides_are_refused() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&RedisConfig::parse(&server.url()).expect("a URL"));
    let limits: Vec<Limit> = (0..=MOST).map(|n| Limit::per_hour(5).named(&n.to_string())).collect();
    let charges = [Charge { space: Space::named(""), key: &"alice".into(), limits: &limits, cost: 1 }];
    let call = ChargeRequest { now_ms: 0, holder: 0, charges: &charges };
    assert_eq!(store.decide(&call).await, Err(RedisError::TooManyLimits(MOST + 1)));
}
