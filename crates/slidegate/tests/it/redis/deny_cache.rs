//! Denials that are repeated without asking the server: which ones, for how long, and that they are
//! never wrong.

use std::time::Duration;

use slidegate::store::{Charge, ChargeRequest, ForgetRequest};
use slidegate::{
    AsyncLimiter, CallError, Limit, Limiter, Outcome, PermitError, Redis, ReserveRequest, Source, Space,
    Store, Verdict,
};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::redis::stores::{self, direct, limit, patient, scripts_run};

/// Longer than the test, so that denials hold for as long as they are remembered.
const REMEMBERED: Duration = Duration::from_secs(60);

fn store(server: &RedisServer) -> Redis {
    Redis::new(&patient(&server.url()).deny_cache(REMEMBERED))
}

/// A key that is used up, and whose denial is known.
async fn used_up(limiter: &AsyncLimiter<Redis>) -> Verdict {
    let quota = limiter.limits()[0].quota();
    assert!(limiter.check_n("key", quota).await.expect("a decision").is_allowed());
    let denied = limiter.check("key").await.expect("a decision");
    assert_eq!((denied.is_allowed(), denied.source), (false, Source::Store));
    denied
}

/// Whether the server is asked for this cost.
async fn asks(server: &RedisServer, limiter: &AsyncLimiter<Redis>, cost: u64) -> bool {
    let before = scripts_run(server);
    let verdict = limiter.check_n("key", cost).await.expect("a decision");
    let was_called = scripts_run(server) > before;
    assert_eq!(verdict.source, if was_called { Source::Store } else { Source::Cache });
    was_called
}

#[tokio::test]
async fn a_denial_is_repeated_without_asking() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = direct(&store(&server), [Limit::per_hour(3)]);
        let wait_ms = used_up(&limiter).await.retry_after_ms().expect("a wait");
        let before = scripts_run(&server);
        for _ in 0..100 {
            let verdict = limiter.check("key").await.expect("a decision");
            assert_eq!((verdict.is_allowed(), verdict.source), (false, Source::Cache));
            assert_eq!((verdict.remaining(), verdict.reset_after_ms()), (None, None), "nobody looked");
            assert!(verdict.retry_after_ms().expect("a wait") <= wait_ms);
        }
        assert_eq!(scripts_run(&server), before, "{flavour:?}");
    }
}

#[tokio::test]
async fn what_may_fit_goes_to_the_store() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = store(&server);
    let limiter = direct(&store, [Limit::per_hour(5)]);
    assert!(limiter.check_n("key", 3).await.expect("a decision").is_allowed());
    assert!(!limiter.check_n("key", 4).await.expect("a decision").is_allowed());
    assert!(!asks(&server, &limiter, 4).await && !asks(&server, &limiter, 5).await);
    assert!(asks(&server, &limiter, 3).await, "a smaller cost");
    assert!(!asks(&server, &limiter, 3).await);
    assert!(asks(&server, &limiter, 0).await, "a look");
    let lower = direct(&store, [Limit::per_hour(4)]);
    assert!(!asks(&server, &lower, 3).await, "what does not fit a quota does not fit a lower one");
    let higher = direct(&store, [Limit::per_hour(6)]);
    assert!(asks(&server, &higher, 3).await && used(&higher).await == 6, "a larger quota may have room");
    store.clear_deny_cache();
    assert!(asks(&server, &limiter, 4).await, "forgotten");
}

/// A wait would be a lie.
#[tokio::test]
async fn what_never_fits_is_denied_as_such_whatever_is_cached() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = direct(&store(&server), [Limit::per_hour(3), Limit::per_day(9)]);
    let _ = used_up(&limiter).await;
    assert!(!asks(&server, &limiter, 1).await);
    let verdict = limiter.check_n("key", 4).await.expect("a decision");
    assert_eq!((verdict.source, verdict.retry_after_ms()), (Source::Store, None));
    assert_eq!(verdict.decisions[0].outcome, Outcome::Never);
}

/// The node that is told to forget a key asks at once; another sees that the notes have changed, and
/// then asks too.
#[tokio::test]
async fn a_key_that_is_forgotten_is_denied_nowhere() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let [here, there] = [store(&server), store(&server)];
        let [one, two] = [&here, &there].map(|store| direct(store, [Limit::per_hour(3), Limit::per_day(4)]));
        let _ = used_up(&one).await;
        assert!(!two.check("key").await.expect("a decision").is_allowed());
        assert!(!asks(&server, &one, 1).await && !asks(&server, &two, 1).await);
        let version = there.notes().await.expect("notes").version;
        let limits = [one.limits()[0].id(), one.limits()[1].id()];
        let forget = ForgetRequest { space: Space::named(""), key: &"key".into(), limits: &limits };
        here.forget(&forget).await.expect("an answer");
        assert!(one.check_n("key", 3).await.expect("a decision").is_allowed(), "{flavour:?}");
        here.forget(&forget).await.expect("an answer");
        assert!(!asks(&server, &two, 1).await, "it does not know yet");
        assert!(there.notes().await.expect("notes").version > version);
        Store::clear_deny_cache(&there);
        assert!(two.check_n("key", 3).await.expect("a decision").is_allowed(), "{flavour:?}");
    }
}

async fn used(limiter: &AsyncLimiter<Redis>) -> u64 {
    stores::used(limiter, "key").await
}

/// One limit of several is enough, and the others are not said to have room.
#[tokio::test]
async fn a_request_is_denied_by_the_cached_limit() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = direct(&store(&server), [Limit::per_hour(1), Limit::per_day(10)]);
    let _ = used_up(&limiter).await;
    assert!(!asks(&server, &limiter, 1).await);
    let verdict = limiter.check("key").await.expect("a decision");
    assert_eq!(verdict.remaining(), None);
    assert_eq!(limiter.check("other").await.expect("a decision").source, Source::Store, "another key");
}

#[tokio::test]
async fn a_denial_is_not_repeated_for_longer_than_the_setting() {
    let server = RedisServer::start(Flavour::Redis70);
    let config = patient(&server.url()).deny_cache(Duration::from_millis(50));
    let limiter = direct(&Redis::new(&config), [Limit::per_hour(1)]);
    let _ = used_up(&limiter).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(asks(&server, &limiter, 1).await);
    let never = direct(&Redis::new(&config.deny_cache(Duration::ZERO)), [Limit::per_hour(1)]);
    assert!(asks(&server, &never, 1).await && asks(&server, &never, 1).await, "turned off");
}

#[tokio::test]
async fn refundable_charges_always_go_to_the_store() {
    let server = RedisServer::start(Flavour::Redis70);
    let builder = Limiter::builder([Limit::per_hour(1)]).refundable().store(store(&server));
    let limiter = builder.build_async().expect("a limiter");
    let permit = limiter.reserve("key", 1).await.expect("a reservation").permit.expect("a permit");
    assert!(asks(&server, &limiter, 1).await && asks(&server, &limiter, 1).await);
    limiter.refund(&permit).await.expect("a refund");
    assert!(limiter.check("key").await.expect("a decision").is_allowed(), "at once");
}

#[tokio::test]
async fn a_slot_in_flight_always_goes_to_the_store() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = direct(&store(&server), [Limit::in_flight(1, Duration::from_secs(3600)).expect("a limit")]);
    let permit = limiter.reserve("key", 1).await.expect("a reservation").permit.expect("a permit");
    assert!(asks(&server, &limiter, 1).await && asks(&server, &limiter, 1).await);
    limiter.refund(&permit).await.expect("a release");
    assert!(limiter.check("key").await.expect("a decision").is_allowed(), "at once");
}

#[tokio::test]
async fn permits_have_to_be_declared() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = direct(&store(&server), [Limit::per_hour(1)]);
    let refused = limiter.reserve("key", 1).await.expect_err("not declared");
    assert!(matches!(refused, CallError::Permit(PermitError::NotDeclared)), "{refused}");
    assert_eq!(used(&limiter).await, 0);
}

#[tokio::test]
async fn after_the_wait_a_request_is_admitted() {
    let server = RedisServer::start(Flavour::Redis70);
    let limits =
        [limit(2, 150), limit(2, 150).counter().expect("a limit"), limit(2, 150).gcra(2).expect("a limit")];
    for limit in limits {
        let limiter = direct(&store(&server), [limit]);
        let wait_ms = until_denied(&limiter).await.retry_after_ms().expect("a wait");
        tokio::time::sleep(Duration::from_millis(wait_ms)).await;
        let verdict = limiter.check("key").await.expect("a decision");
        assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Store), "{limit}");
    }
}

/// However slow the machine is, sooner or later more than the quota comes within a window.
async fn until_denied(limiter: &AsyncLimiter<Redis>) -> Verdict {
    loop {
        let verdict = limiter.check("key").await.expect("a decision");
        if !verdict.is_allowed() {
            return verdict;
        }
    }
}

/// A charge under an idempotency key is taken back if its answer was lost, so that a denial by it
/// may end early.
#[tokio::test]
async fn permits_go_to_the_store() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = store(&server);
    let limiter = direct(&store, [Limit::per_hour(3)]);
    let charges =
        [Charge { space: Space::named(""), key: &"other".into(), limits: limiter.limits(), cost: 1 }];
    let call = ChargeRequest { now_ms: 0, holder: 0, charges: &charges };
    store.decide_idempotent(&ReserveRequest::without_refunds(call), b"once").await.expect("a decision");
    let _ = used_up(&limiter).await;
    assert!(asks(&server, &limiter, 1).await && asks(&server, &limiter, 1).await);
}
