//! What a node answers by itself while the store is away.

use std::cell::Cell;
use std::time::Duration;

use slidegate::store::redis::RedisError;
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, ForgetRequest, Settlement};
use slidegate::{
    Admission, CallError, Clock, Fallback, IdempotentOutcome, Key, Limit, Limiter, OnStoreError, Outcome,
    Redis, RedisLimiter, RefundScope, ReserveRequest, SettleOutcome, Source, Space, Store, SystemClock,
    Verdict,
};
use slidegate_core::Receipt;
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::redis::stores::{self, eventually, guarded, patient, until_from};

/// Denials are asked for again, so that it is seen who answers.
fn store(server: &RedisServer) -> Redis {
    Redis::new(&patient(&server.url()).deny_cache(Duration::ZERO))
}

async fn check(limiter: &RedisLimiter) -> Verdict {
    limiter.check("key").await.expect("a decision")
}

/// How many requests of the next ten are admitted, all of them by this node.
async fn admitted_alone(limiter: &RedisLimiter) -> usize {
    let mut admitted = 0;
    for _ in 0..10 {
        let verdict = check(limiter).await;
        assert_eq!(verdict.source, Source::Local);
        assert!(verdict.remaining().is_some(), "it looked");
        admitted += usize::from(verdict.is_allowed());
    }
    admitted
}

/// How many requests one of `nodes` admits by itself, of which `before` came through the store.
async fn rest_of_share(limit: Limit, nodes: u32, before: usize) -> usize {
    let mut server = RedisServer::start(Flavour::Redis70);
    let limiter = guarded(store(&server), nodes, [limit]);
    for _ in 0..before {
        let verdict = check(&limiter).await;
        assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Store));
    }
    server.kill();
    admitted_alone(&limiter).await
}

#[tokio::test]
async fn a_node_knows_what_it_has_let_through_before() {
    let limit = Limit::per_hour(4);
    for (nodes, before, rest) in [(1, 3, 1), (1, 0, 4), (1, 4, 0), (2, 1, 1), (2, 3, 0), (2, 0, 2), (9, 0, 1)]
    {
        assert_eq!(rest_of_share(limit, nodes, before).await, rest, "{before} of 4 by one of {nodes}");
    }
}

#[tokio::test]
async fn every_kind_has_a_share() {
    // Long enough that nothing leaks away meanwhile, and that aligned windows hardly ever end.
    let day = Limit::per_day(6);
    let kinds = [day.counter(), day.fixed(), day.gcra(6), Limit::in_flight(6, Duration::from_secs(3600))];
    for limit in kinds.map(|limit| limit.expect("a limit")) {
        assert_eq!(rest_of_share(limit, 2, 1).await, 2, "{limit}");
        assert_eq!(rest_of_share(limit, 1, 4).await, 2, "{limit}");
    }
}

/// What others were admitted is not known here, and what was denied was never let through.
#[tokio::test]
async fn a_node_counts_its_own_admissions_only() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let (one, other) = (guarded(store(&server), 2, [Limit::per_hour(4)]), store(&server));
    let other = guarded(other, 2, [Limit::per_hour(4)]);
    for _ in 0..4 {
        let _ = check(&other).await;
    }
    assert!(!check(&one).await.is_allowed(), "the store knows both");
    let _ = one.peek("key").await.expect("a decision");
    server.kill();
    assert_eq!(admitted_alone(&one).await, 2);
    assert_eq!(admitted_alone(&other).await, 0);
}

/// By everybody who holds the store, while it is away and requests come.
#[tokio::test]
async fn what_is_answered_can_change_at_any_time() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let store = Fallback::new(store(&server), 1);
    let limiter =
        Limiter::builder([Limit::per_hour(1)]).name("rule").store(store).build_async().expect("a limiter");
    until_from(&limiter, Source::Store).await;
    server.kill();
    let (rule, other) = (Space::named("rule"), Space::named("other"));
    let rows = [
        (OnStoreError::Deny, Source::Assumed, [false; 2]),
        (OnStoreError::Local, Source::Local, [true, false]),
        (OnStoreError::Allow, Source::Assumed, [true; 2]),
        (OnStoreError::Local, Source::Local, [false; 2]),
    ];
    for (mode, source, admitted) in rows {
        Store::on_store_error(limiter.store(), rule, mode);
        Store::on_store_error(limiter.store(), other, OnStoreError::Deny);
        for allowed in admitted {
            let verdict = check(&limiter).await;
            assert_eq!((verdict.is_allowed(), verdict.source), (allowed, source), "{mode:?}");
        }
    }
    // The store cannot forget, and says so; this node does.
    let limits = [limiter.limits()[0].id()];
    let forget = ForgetRequest { space: rule, key: &"key".into(), limits: &limits };
    assert!(limiter.store().forget(&forget).await.is_err());
    assert_eq!(admitted_alone(&limiter).await, 1);
}

#[tokio::test]
async fn everything_is_let_through_or_refused_if_so_set() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let limiters = [OnStoreError::Allow, OnStoreError::Deny].map(|mode| {
        let store = Fallback::new(store(&server), 1).on_store_error(mode);
        Limiter::builder([Limit::per_hour(1)]).store(store).build_async().expect("a limiter")
    });
    for limiter in &limiters {
        until_from(limiter, Source::Store).await;
    }
    server.kill();
    for (limiter, allowed) in limiters.iter().zip([true, false]) {
        for _ in 0..5 {
            let verdict = check(limiter).await;
            assert_eq!((verdict.is_allowed(), verdict.source), (allowed, Source::Assumed));
            assert_eq!((verdict.remaining(), verdict.reset_after_ms()), (None, None), "nobody looked");
            assert_eq!(verdict.retry_after_ms(), (!allowed).then_some(1_000));
        }
        assert_eq!(limiter.store().failures(), 5);
    }
}

#[tokio::test]
async fn rules_have_their_own_way() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let store =
        Fallback::new(store(&server), 1).rule("open", OnStoreError::Allow).rule("shut", OnStoreError::Deny);
    server.kill();
    let (key, limits) = (Key::from("key"), [Limit::per_hour(2)]);
    let charge = |name: &str| Charge { space: Space::named(name), key: &key, limits: &limits, cost: 1 };
    let decide = async |names: &[&str]| {
        let charges: Vec<Charge<'_>> = names.iter().map(|name| charge(name)).collect();
        let call = ChargeRequest { now_ms: 1_000_000, holder: 1, charges: &charges };
        store.decide(&call).await.expect("a decision")
    };
    assert_eq!(decide(&["open"]).await.source, Source::Assumed);
    let refused = decide(&["open", "mine", "shut"]).await;
    let fits: Vec<bool> = refused.decisions.iter().map(|one| one.outcome == Outcome::Fits).collect();
    assert_eq!((refused.is_allowed(), fits), (false, vec![true, true, false]), "one that refuses is enough");
    for expected in [true, true, false] {
        let verdict = decide(&["open", "mine"]).await;
        assert_eq!((verdict.is_allowed(), verdict.source), (expected, Source::Assumed));
    }
    assert_eq!(decide(&["mine"]).await.source, Source::Local);
}

fn refundable(server: &RedisServer, limit: Limit) -> RedisLimiter {
    let store = Fallback::new(store(server), 1);
    Limiter::builder([limit]).refundable().store(store).build_async().expect("a limiter")
}

/// The store has to hear of it, so the caller is told to come back; what comes back then is settled
/// once.
#[tokio::test]
async fn a_permit_cannot_be_settled_while_the_store_is_away() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = refundable(&server, Limit::per_hour(4));
    let permit = limiter.reserve("key", 3).await.expect("a reservation").permit.expect("a permit");
    server.must(&["REPLICAOF", "127.0.0.1", "1"]);
    let refused = limiter.refund(&permit).await.expect_err("nothing can be written");
    assert!(matches!(refused, CallError::Store(RedisError::Refused { .. })), "{refused}");
    server.must(&["REPLICAOF", "NO", "ONE"]);
    let settled = async || matches!(limiter.refund(&permit).await, Ok(SettleOutcome::Settled));
    eventually("a refund", settled).await;
    assert_eq!(stores::used(&limiter, "key").await, 0);
    assert_eq!(limiter.refund(&permit).await.expect("an answer"), SettleOutcome::AlreadySpent);
}

/// This node let it through by itself, so it takes it back by itself, though the store cannot be
/// told.
#[tokio::test]
async fn a_permit_of_one_node_is_refunded_there() {
    let holding = Limit::in_flight(2, Duration::from_secs(3600)).expect("a limit");
    for limit in [Limit::per_hour(2), holding] {
        let mut server = RedisServer::start(Flavour::Redis70);
        let limiter = refundable(&server, limit);
        until_from(&limiter, Source::Store).await;
        server.kill();
        let reservation = limiter.reserve("key", 2).await.expect("a reservation");
        assert_eq!(reservation.verdict.source, Source::Local);
        assert!(!check(&limiter).await.is_allowed(), "{limit}");
        let permit = reservation.permit.expect("a permit");
        // The node that gave it has it recorded, and needs nobody else.
        assert_eq!(limiter.refund(&permit).await.expect("an answer"), SettleOutcome::Settled);
        assert_eq!(limiter.refund(&permit).await.expect("an answer"), SettleOutcome::AlreadySpent);
        assert_eq!(admitted_alone(&limiter).await, 2, "{limit}");
    }
}

/// A request of two units that its sender may send again.
async fn once(store: &Fallback<Redis>, idempotency_key: &[u8], cost: u64) -> IdempotentOutcome {
    let (key, limits) = (Key::from("key"), [Limit::per_hour(10)]);
    let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost }];
    let now_ms = SystemClock::new().now_ms();
    let call = ChargeRequest { now_ms, holder: 1, charges: &charges };
    store
        .decide_idempotent(&ReserveRequest::without_refunds(call), idempotency_key)
        .await
        .expect("a decision")
}

fn outcome(once: IdempotentOutcome) -> (&'static str, Source, Option<u64>) {
    match once {
        IdempotentOutcome::Decided(Admission { verdict, .. }) => {
            ("decided", verdict.source, verdict.remaining())
        }
        IdempotentOutcome::Replayed { admission: Admission { verdict, .. }, .. } => {
            ("replayed", verdict.source, verdict.remaining())
        }
        other => panic!("nothing else was asked for: {other:?}"),
    }
}

#[tokio::test]
async fn a_request_that_comes_again_is_charged_once_by_a_node_alone() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let fallback = Fallback::new(store(&server), 1);
    assert_eq!(outcome(once(&fallback, b"a", 2).await), ("decided", Source::Store, Some(8)));
    for _ in 0..3 {
        assert_eq!(outcome(once(&fallback, b"a", 2).await), ("replayed", Source::Store, Some(8)));
    }
    server.kill();
    let first = once(&fallback, b"b", 2).await;
    assert_eq!(
        outcome(first.clone()),
        ("decided", Source::Local, Some(6)),
        "what came again was let in once"
    );
    let IdempotentOutcome::Decided(verdict) = first else { panic!("decided") };
    for _ in 0..30 {
        let again = IdempotentOutcome::Replayed { admission: verdict.clone(), holder: 1 };
        assert_eq!(once(&fallback, b"b", 2).await, again);
    }
    assert_eq!(once(&fallback, b"b", 3).await, IdempotentOutcome::Conflict);
    assert_eq!(outcome(once(&fallback, b"c", 2).await), ("decided", Source::Local, Some(4)));
    assert_eq!(fallback.failures(), 33, "all of which the store did not answer");
}

/// What the node answered by itself, the store never heard of.
#[tokio::test]
async fn a_recovered_store_decides_again() {
    let server = RedisServer::start(Flavour::Redis70);
    let fallback = Fallback::new(store(&server), 1);
    server.must(&["REPLICAOF", "127.0.0.1", "1"]);
    assert_eq!(outcome(once(&fallback, b"a", 2).await), ("decided", Source::Local, Some(8)));
    assert_eq!(outcome(once(&fallback, b"a", 2).await), ("replayed", Source::Local, Some(8)));
    server.must(&["REPLICAOF", "NO", "ONE"]);
    let answered = Cell::new(None);
    eventually("the store", async || {
        let answer = outcome(once(&fallback, b"b", 1).await);
        answered.set(Some(answer));
        answer.1 == Source::Store
    })
    .await;
    assert_eq!(answered.get(), Some(("decided", Source::Store, Some(9))));
    assert_eq!(outcome(once(&fallback, b"a", 2).await), ("decided", Source::Store, Some(7)));
    assert_eq!(outcome(once(&fallback, b"a", 2).await), ("replayed", Source::Store, Some(7)));
}

/// The first answer of an outage may have been lost after the store had written it: its generation
/// and the node's then began with the same request, and know each other's permits all the same.
#[tokio::test]
async fn permits_of_the_store_and_of_the_node_are_distinct() {
    let server = RedisServer::start(Flavour::Redis70);
    let hold = Limit::in_flight(5, Duration::from_secs(3600)).expect("in flight");
    for limits in [[Limit::per_hour(5)], [hold]] {
        server.must(&["FLUSHALL"]);
        let node = Fallback::new(store(&server), 1);
        let key = Key::from("key");
        let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost: 1 }];
        let call = |holder| ChargeRequest { now_ms: SystemClock::new().now_ms(), holder, charges: &charges };
        let reserve = |holder| ReserveRequest { charge: call(holder), refunds: &[RefundScope::Everything] };
        // The same request, once at the store and once at the node, as if the answer had been lost.
        store(&server).reserve(&reserve(1)).await.expect("an answer");
        server.must(&["REPLICAOF", "127.0.0.1", "1"]);
        let own = node.reserve(&reserve(1)).await.expect("an answer");
        assert_eq!(own.verdict.source, Source::Local);
        server.must(&["REPLICAOF", "NO", "ONE"]);
        let mut holder = 1;
        let mut shared = own.clone();
        for _ in 0..200 {
            holder += 1;
            shared = node.reserve(&reserve(holder)).await.expect("an answer");
            if shared.verdict.source == Source::Store {
                break;
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
            holder += 1;
        }
        let settlement = |admission: &Admission, holder| {
            let stamp_ms = admission.verdict.decisions[0].stamp_ms;
            let receipts = vec![(limits[0].id(), Receipt { stamp_ms, cost: 1, holder })];
            let grant = admission.grants.of(0).expect("a permit");
            let subjects = vec![ChargeRecord { space: Space::named(""), key: key.clone(), grant, receipts }];
            Settlement { now_ms: SystemClock::new().now_ms(), id: holder, cost: 0, slots: 0, subjects }
        };
        let used = async || {
            let look = [Charge { cost: 0, ..charges[0] }];
            let verdict =
                store(&server).decide(&ChargeRequest { charges: &look, ..call(0) }).await.expect("an answer");
            5 - verdict.decisions[0].remaining
        };
        assert_eq!(used().await, 2, "what was lost, and what was told");
        assert_eq!(
            node.settle(&settlement(&shared, holder)).await.expect("an answer"),
            [SettleOutcome::Settled]
        );
        assert_eq!(used().await, 1, "{limits:?}: the store was told of its own permit");
        assert_eq!(node.settle(&settlement(&own, 1)).await.expect("an answer"), [SettleOutcome::Settled]);
        assert_eq!(used().await, 1, "and not of the node's");
    }
}
