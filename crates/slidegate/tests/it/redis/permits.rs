//! Permits over Redis: released, settled, void, and in parts.

use std::time::Duration;

use slidegate::SettleOutcome::{AlreadySpent, PartlySettled, Settled, Void};
use slidegate::store::{Admission, Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    AsyncLimiter, CheckRequest, Fallback, Gate, Key, Limit, Limiter, Memory, Policy, Redis, RefundScope,
    Request, ReserveRequest, SettleOutcome, Space, Store,
};
use slidegate_core::Receipt;
use slidegate_testkit::servers::{Flavour, RedisServer, RespReply};

mod lost_writes;

use crate::redis::stores::{keys, patient};

const RULES: &str = "
version: 1
rules:
  - { name: tokens, key: [user], limits: [100/min], refundable: true }
  - { name: calls, key: [user], limits: [50/min, { in_flight: 9, hold: 1min }], refundable: true }
";

fn policy() -> Policy {
    Policy::parse("policy.yaml", RULES).expect("a policy")
}

fn request(cost: u64) -> CheckRequest<'static> {
    CheckRequest::from(Request::new().with("user", "alice").cost(cost))
}

fn redis(server: &RedisServer) -> Redis {
    Redis::new(&patient(&server.url()))
}

fn limiter(server: &RedisServer, limits: impl IntoIterator<Item = Limit>) -> AsyncLimiter<Redis> {
    Limiter::builder(limits).refundable().store(redis(server)).build_async().expect("a limiter")
}

/// How many permits of one key are settled on each server.
fn times() -> u64 {
    std::env::var("SLIDEGATE_PERMITS").ok().and_then(|times| times.parse().ok()).unwrap_or(2_000)
}

/// More than a key once remembered: every release is done, and none leaves anything behind.
/// `SLIDEGATE_PERMITS` says how many.
#[tokio::test]
async fn releases_and_settlements_are_never_refused() {
    let day = Limit::new(1 << 40, Duration::from_secs(86_400)).and_then(Limit::counter).expect("a counter");
    let places = Limit::in_flight(5, Duration::from_secs(300)).expect("in flight");
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = limiter(&server, [day, places]);
        for time in 0..times() {
            let permit = limiter.reserve("key", 1).await.expect("an answer").permit.expect("admitted");
            assert_eq!(limiter.settle(&permit, 1_500).await.expect("an answer"), Settled, "{time}");
            if time % 100 == 0 {
                assert_eq!(limiter.refund(&permit).await.expect("an answer"), AlreadySpent, "{time}");
            }
        }
        let left: Vec<u64> =
            limiter.peek("key").await.expect("an answer").decisions.iter().map(|one| one.remaining).collect();
        assert_eq!(left, [(1 << 40) - 1_500 * times(), 5]);
        let permits_key =
            keys(&server).into_iter().find(|key| server.command(&["TYPE", key]).text() == "hash");
        let RespReply::Int(fields) = server.command(&["HLEN", &permits_key.expect("open permits")]) else {
            panic!("a number")
        };
        assert_eq!(fields, 1, "{flavour:?}: of all that is spent nothing is left");
    }
}

/// After a reset of one rule its part of a permit is void, and the answer says which.
#[tokio::test]
async fn a_permit_is_settled_rule_by_rule() {
    let server = RedisServer::start(Flavour::Redis70);
    let redis = redis(&server);
    let gates = (Gate::new(policy(), redis), Gate::new(policy(), Memory::default()));
    let alice = Request::new().with("user", "alice");
    let in_redis = gates.0.check(&request(7)).await.expect("an answer");
    let in_memory = gates.1.check(&request(7)).await.expect("an answer");
    gates.0.reset(Some("tokens"), &alice).await.expect("a reset");
    gates.1.reset(Some("tokens"), &alice).await.expect("a reset");
    let reports = [
        gates.0.refund(&gates.0.permit(&in_redis).expect("a permit")).await.expect("an answer"),
        gates.1.refund(&gates.1.permit(&in_memory).expect("a permit")).await.expect("an answer"),
    ];
    for report in reports {
        assert_eq!(report.outcome, PartlySettled);
        let parts: Vec<_> =
            report.parts.iter().map(|part| (part.rule.as_deref().expect("a rule"), part.outcome)).collect();
        assert_eq!(parts, [("tokens", Void), ("calls", Settled)]);
    }
    let after = gates.0.check(&request(0)).await.expect("an answer");
    let left: Vec<u64> = after.verdict().decisions.iter().map(|decision| decision.remaining).collect();
    assert_eq!(left, [100, 50, 9], "what was reset is whole, and the rest was given back");
}

/// A settlement that was cut off between two subjects is finished when it comes again.
#[tokio::test]
async fn what_was_settled_in_part_is_finished() {
    let server = RedisServer::start(Flavour::Redis70);
    let (store, limits) = (redis(&server), [Limit::per_hour(10)]);
    let keys = ["alice", "bob"].map(Key::from);
    let charge = |key| Charge { space: Space::named(""), key, limits: &limits, cost: 4 };
    let charges = [charge(&keys[0]), charge(&keys[1])];
    let call = ChargeRequest { now_ms: 0, holder: 7, charges: &charges };
    let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything; 2] };
    let Admission { verdict, grants: granted } = store.reserve(&request).await.expect("an answer");
    let subjects = (0..2).map(|index| {
        let receipt = Receipt { stamp_ms: verdict.decisions[index].stamp_ms, cost: 4, holder: 7 };
        let (grant, receipts) = (granted.of(index).expect("a permit"), vec![(limits[0].id(), receipt)]);
        ChargeRecord { space: Space::named(""), key: keys[index].clone(), grant, receipts }
    });
    let all = Settlement { now_ms: 0, id: 7, cost: 0, slots: 0, subjects: subjects.collect() };
    let first = Settlement { subjects: all.subjects[..1].to_vec(), ..all.clone() };
    assert_eq!(store.settle(&first).await.expect("an answer"), [Settled]);
    let outcomes = store.settle(&all).await.expect("an answer");
    assert_eq!(outcomes, [AlreadySpent, Settled]);
    assert_eq!(SettleOutcome::of_all(&outcomes), Settled, "all of it is settled now");
    assert_eq!(store.settle(&all).await.expect("an answer"), [AlreadySpent; 2]);
    let look = [Charge { cost: 0, ..charges[0] }, Charge { cost: 0, ..charges[1] }];
    let left = store.decide(&ChargeRequest { charges: &look, ..call }).await.expect("an answer");
    assert!(left.decisions.iter().all(|decision| decision.remaining == 10), "{left:?}");
}

/// The node's clock has no say in whether a permit of the store is still good, and nothing is
/// settled twice.
#[tokio::test]
async fn a_node_beside_the_store_settles_nothing_twice() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Fallback::new(redis(&server), 1);
    let clock = slidegate::ManualClock::new(1_000);
    let short = Limit::new(5, Duration::from_millis(50)).expect("a limit");
    let builder = Limiter::builder([short]).refundable().store(store).clock(clock);
    let limiter = builder.build_async().expect("a limiter");
    let permit = limiter.reserve("key", 2).await.expect("an answer").permit.expect("admitted");
    tokio::time::sleep(Duration::from_millis(120)).await;
    for _ in 0..3 {
        let outcome = limiter.refund(&permit).await.expect("an answer");
        assert_eq!(outcome, SettleOutcome::Expired, "by the store's clock it is over");
    }
}
