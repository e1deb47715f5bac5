//! Requests that their sender may send again: charged once, answered again for a while.

use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{IdempotentOutcome, Key, Limit, Redis, ReserveRequest, Space, Store, Verdict};
use slidegate_testkit::servers::{AfterDrop, Flavour, Proxy, RedisServer};

mod memory_oracle;

use crate::redis::stores::{eventually, keys, limit, patient};

/// A request to one key at a time that only stores which are told the time listen to.
struct KeyRequest<'a> {
    limits: &'a [Limit],
    cost: u64,
    now_ms: u64,
}

impl KeyRequest<'_> {
    /// With some key of the sender's.
    async fn once(&self, store: &Redis, idempotency_key: &str) -> IdempotentOutcome {
        let key = Key::from("key");
        let charges = [self.charge(&key, self.cost)];
        let call = ChargeRequest { now_ms: self.now_ms, holder: 7, charges: &charges };
        store
            .decide_idempotent(&ReserveRequest::without_refunds(call), idempotency_key.as_bytes())
            .await
            .expect("a decision")
    }

    /// What the first limit has left.
    async fn remaining(&self, store: &Redis) -> u64 {
        let key = Key::from("key");
        let call = ChargeRequest { now_ms: self.now_ms, holder: 8, charges: &[self.charge(&key, 0)] };
        store.decide(&call).await.expect("a decision").decisions[0].remaining
    }

    fn charge<'k>(&'k self, key: &'k Key<'k>, cost: u64) -> Charge<'k> {
        Charge { space: Space::named(""), key, limits: self.limits, cost }
    }
}

/// The answer of then, under the id of then.
fn replayed(verdict: Verdict) -> IdempotentOutcome {
    IdempotentOutcome::Replayed { admission: verdict.into(), holder: 7 }
}

fn decided(once: IdempotentOutcome) -> Verdict {
    match once {
        IdempotentOutcome::Decided(admission) => admission.verdict,
        other => panic!("not decided now: {other:?}"),
    }
}

#[tokio::test]
async fn a_request_that_comes_again_is_charged_once_however_often() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        let hold = Limit::in_flight(10, Duration::from_secs(3600)).expect("a limit");
        let request = KeyRequest { limits: &[Limit::per_hour(10), hold], cost: 2, now_ms: 0 };
        let verdict = decided(request.once(&store, "a").await);
        assert!(verdict.is_allowed());
        for _ in 0..30 {
            assert_eq!(request.once(&store, "a").await, replayed(verdict.clone()), "{flavour:?}");
            assert_eq!(request.remaining(&store).await, 8);
        }
        assert_eq!(decided(request.once(&store, "b").await).remaining(), Some(6), "another key");
    }
}

#[tokio::test]
async fn something_else_under_the_same_key_is_a_conflict() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&patient(&server.url()));
    let limits = [Limit::per_hour(10)];
    let request = KeyRequest { limits: &limits, cost: 2, now_ms: 0 };
    let verdict = decided(request.once(&store, "a").await);
    assert_eq!(KeyRequest { cost: 3, ..request }.once(&store, "a").await, IdempotentOutcome::Conflict);
    let other = KeyRequest { limits: &[Limit::per_day(10)], ..request };
    assert_eq!(other.once(&store, "a").await, IdempotentOutcome::Conflict);
    assert_eq!(
        (request.remaining(&store).await, other.remaining(&store).await),
        (8, 10),
        "nothing is charged"
    );
    assert_eq!(request.once(&store, "a").await, replayed(verdict), "nor forgotten");
    let raised = KeyRequest { limits: &[Limit::per_hour(20)], ..request };
    assert!(
        matches!(raised.once(&store, "a").await, IdempotentOutcome::Replayed { .. }),
        "a new quota is no new request"
    );
}

#[tokio::test]
async fn a_denial_is_not_remembered() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&patient(&server.url()));
    let request = KeyRequest { limits: &[limit(2, 300)], cost: 2, now_ms: 0 };
    let first = decided(request.once(&store, "a").await);
    let mut number = 0;
    // Sooner or later two come within a window.
    let denied = loop {
        number += 1;
        let verdict = decided(request.once(&store, &number.to_string()).await);
        if !verdict.is_allowed() {
            break verdict;
        }
    };
    assert!(first.is_allowed());
    tokio::time::sleep(Duration::from_millis(denied.retry_after_ms().expect("a wait"))).await;
    let again = decided(request.once(&store, &number.to_string()).await);
    assert!(again.is_allowed(), "when there is room, the same request gets it");
}

#[tokio::test]
async fn an_answer_is_remembered_for_the_shortest_window() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        let request = KeyRequest { limits: &[Limit::per_hour(10), limit(10, 300)], cost: 1, now_ms: 0 };
        assert!(decided(request.once(&store, "a").await).is_allowed());
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(decided(request.once(&store, "a").await).decisions[0].remaining, 8, "{flavour:?}");
        eventually("one key", async || keys(&server).len() == 1).await;
    }
}

#[tokio::test]
async fn an_answer_is_remembered_for_a_minute_at_most() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::by_callers_clock(&patient(&server.url()));
    let (minute, hour) = (Limit::per_minute(10), Limit::per_hour(10));
    let ten_seconds = limit(10, 10_000);
    let cases: [(&str, &[Limit], u64); 3] =
        [("a", &[hour], 60_000), ("b", &[minute, hour], 60_000), ("c", &[ten_seconds, minute], 10_000)];
    for (key, limits, lives_ms) in cases {
        let at = |now_ms| KeyRequest { limits, cost: 1, now_ms };
        let verdict = decided(at(1_000_000).once(&store, key).await);
        assert_eq!(at(1_000_000 + lives_ms - 1).once(&store, key).await, replayed(verdict.clone()));
        assert_ne!(decided(at(1_000_000 + lives_ms).once(&store, key).await), verdict);
    }
}

/// What all of it is for: a sender that got no answer sends again, and is charged once however far
/// the first one came.
#[tokio::test]
async fn a_sender_that_lost_an_answer_is_charged_once() {
    for then in [AfterDrop::Close, AfterDrop::Hang] {
        let server = RedisServer::start(Flavour::Redis70);
        let proxy = Proxy::start(server.port());
        let beside = Redis::new(&patient(&server.url()));
        let cooldown = Duration::from_millis(10)..=Duration::from_millis(50);
        let config = RedisConfig::parse(&proxy.url()).expect("a URL").timeout(Duration::from_millis(300));
        let store = Redis::new(&config.breaker_cooldown(cooldown));
        let request = KeyRequest { limits: &[Limit::per_hour(100)], cost: 1, now_ms: 0 };
        let key = Key::from("key");
        let charges = [request.charge(&key, 1)];
        let call = ChargeRequest { now_ms: 0, holder: 7, charges: &charges };
        let look = ChargeRequest { charges: &[request.charge(&key, 0)], ..call };
        for sent in 0..3 {
            proxy.pass();
            eventually("an answer", async || store.decide(&look).await.is_ok()).await;
            proxy.drop_replies(then);
            let name = sent.to_string();
            store
                .decide_idempotent(&ReserveRequest::without_refunds(call), name.as_bytes())
                .await
                .expect_err("no reply");
            proxy.pass();
            eventually("the answer", async || {
                store.decide_idempotent(&ReserveRequest::without_refunds(call), name.as_bytes()).await.is_ok()
            })
            .await;
            assert_eq!(request.remaining(&beside).await, 99 - sent, "{then:?}");
        }
    }
}
