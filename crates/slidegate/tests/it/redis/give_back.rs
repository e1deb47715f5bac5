//! Units given back without a permit, in Redis: once, on every server, and also while the store is
//! away.

use std::time::Duration;

use futures_util::future::join_all;
use slidegate::store::redis::{RedisConfig, RedisError};
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{
    Clock, Fallback, Key, Limit, OnStoreError, Outcome, Redis, Source, Space, Store, SystemClock, Verdict,
};
use slidegate_testkit::servers::{AfterDrop, Flavour, Proxy, RedisServer};

use crate::redis::stores::{self, eventually, patient, scripts_run};

fn kinds(quota: u64) -> [Limit; 4] {
    // Aligned windows of a year hardly ever end in the middle of a test.
    let log = Limit::new(quota, Duration::from_secs(365 * 86_400)).expect("a log");
    let others = [log.counter(), log.fixed(), log.gcra(quota)].map(|limit| limit.expect("a limit"));
    [log, others[0], others[1], others[2]]
}

fn space() -> Space {
    Space::named("rule")
}

/// A call about one key.
async fn about<T>(limits: &[Limit], cost: u64, ask: impl AsyncFnOnce(&ChargeRequest<'_>) -> T) -> T {
    let key = Key::from("key");
    let charges = [Charge { space: space(), key: &key, limits, cost }];
    ask(&ChargeRequest { now_ms: SystemClock::new().now_ms(), holder: 1, charges: &charges }).await
}

async fn charge<S: Store>(store: &S, limits: &[Limit], cost: u64) -> Verdict {
    about(limits, cost, async |call| store.decide(call).await).await.expect("a decision")
}

async fn give_back<S: Store>(store: &S, limits: &[Limit], units: u64) -> Result<Verdict, S::Error> {
    about(limits, units, async |call| store.give_back(call).await).await
}

fn remaining(verdict: &Verdict) -> Vec<u64> {
    verdict.decisions.iter().map(|decision| decision.remaining).collect()
}

/// By the server's own clock, and though a server may forget its scripts.
#[tokio::test]
async fn returned_units_can_be_used_again() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        // Otherwise a denial that is remembered would hold.
        store.expect_refunds(space());
        let limits = kinds(5);
        assert!(charge(&store, &limits, 5).await.is_allowed());
        assert!(!charge(&store, &limits, 1).await.is_allowed());
        server.must(&["SCRIPT", "FLUSH"]);
        let verdict = give_back(&store, &limits, 2).await.expect("an answer");
        assert!(verdict.is_allowed() && verdict.decisions.iter().all(|decision| decision.stamp_ms == 0));
        assert_eq!((verdict.source, remaining(&verdict)), (Source::Store, vec![2; 4]), "{flavour:?}");
        assert!(charge(&store, &limits, 2).await.is_allowed());
        assert!(!charge(&store, &limits, 1).await.is_allowed());
        let all = give_back(&store, &limits, u64::MAX).await.expect("an answer");
        assert_eq!((remaining(&all), all.reset_after_ms()), (vec![5; 4], Some(0)));
        assert_eq!(stores::keys(&server), [""; 0], "what is empty is as if never seen");
    }
}

/// Those that come at the same time travel together, and each counts.
#[tokio::test]
async fn many_at_once_are_each_returned() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&patient(&server.url()));
    let limits = kinds(1_000);
    assert!(charge(&store, &limits, 500).await.is_allowed());
    let _ = give_back(&store, &limits, 1).await.expect("an answer");
    let before = scripts_run(&server);
    let answers = join_all((0..300).map(|_| give_back(&store, &limits, 1))).await;
    let mut left: Vec<Vec<u64>> = answers.iter().flatten().map(remaining).collect();
    left.sort();
    let right: Vec<Vec<u64>> = (502..=801).map(|left| vec![left; 4]).collect();
    assert_eq!(left, right);
    assert!(scripts_run(&server) - before < 300, "each in a call of its own");
}

/// It ran, but its caller cannot know: it is not sent again.
#[tokio::test]
async fn what_may_have_run_is_not_sent_again() {
    let server = RedisServer::start(Flavour::Redis70);
    let proxy = Proxy::start(server.port());
    let cooldown = Duration::from_millis(10)..=Duration::from_millis(50);
    let hasty = RedisConfig::parse(&proxy.url()).expect("a URL").timeout(Duration::from_millis(500));
    let (store, beside) =
        (Redis::new(&hasty.breaker_cooldown(cooldown)), Redis::new(&patient(&server.url())));
    let limits = [Limit::per_day(1_000)];
    assert!(charge(&beside, &limits, 1_000).await.is_allowed());
    let (mut returned, mut made) = (0, 0);
    while returned < 30 {
        assert!(made < 20, "of {made} calls only {returned} units came back");
        proxy.pass();
        eventually("an answer", async || give_back(&store, &limits, 0).await.is_ok()).await;
        proxy.drop_replies(AfterDrop::Close);
        let error = give_back(&store, &limits, 3).await.expect_err("no reply");
        assert!(matches!(error, RedisError::Lost(_)), "{error}");
        proxy.pass();
        eventually("an answer", async || give_back(&store, &limits, 0).await.is_ok()).await;
        let before = std::mem::replace(&mut returned, remaining(&charge(&beside, &limits, 0).await)[0]);
        assert!(returned == before || returned == before + 3, "{before}, then {returned}");
        made += 1;
    }
}

/// A node has back what came through the store and what it let through by itself.
#[tokio::test]
async fn a_node_that_decides_alone_has_it_back_too() {
    for limit in kinds(8) {
        let mut server = RedisServer::start(Flavour::Redis70);
        let (store, limits) = (Fallback::new(Redis::new(&patient(&server.url())), 2), [limit]);
        store.expect_refunds(space());
        assert!(charge(&store, &limits, 4).await.is_allowed());
        let verdict = give_back(&store, &limits, 3).await.expect("an answer");
        assert_eq!((verdict.source, remaining(&verdict)), (Source::Store, vec![7]), "{limit}");
        server.kill();
        let alone = charge(&store, &limits, 3).await;
        assert_eq!(
            (alone.is_allowed(), alone.source),
            (true, Source::Local),
            "{limit}: a share of 4, and 1 is used"
        );
        assert!(!charge(&store, &limits, 1).await.is_allowed(), "{limit}");
        let verdict = give_back(&store, &limits, 2).await.expect("an answer");
        assert_eq!((verdict.source, remaining(&verdict)), (Source::Local, vec![2]), "{limit}");
        assert!(charge(&store, &limits, 2).await.is_allowed(), "{limit}");
        assert!(store.failures() > 0);
    }
}

#[tokio::test]
async fn rules_have_their_own_way() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let store = Fallback::new(Redis::new(&patient(&server.url())), 1)
        .rule("open", OnStoreError::Allow)
        .rule("shut", OnStoreError::Deny);
    server.kill();
    let (key, limits) = (Key::from("key"), [Limit::per_hour(2)]);
    let charge = |name: &str, cost| Charge { space: Space::named(name), key: &key, limits: &limits, cost };
    let now_ms = 1_000_000;
    let mine = [charge("mine", 2)];
    let _ = store.decide(&ChargeRequest { now_ms, holder: 1, charges: &mine }).await.expect("a decision");
    let all = [charge("open", 1), charge("mine", 1), charge("shut", 1)];
    let verdict =
        store.give_back(&ChargeRequest { now_ms, holder: 1, charges: &all }).await.expect("an answer");
    let outcomes: Vec<Outcome> = verdict.decisions.iter().map(|decision| decision.outcome).collect();
    assert_eq!(outcomes, [Outcome::Fits, Outcome::Fits, Outcome::RetryAfter(1_000)]);
    assert_eq!((verdict.source, verdict.decisions[1].remaining), (Source::Assumed, 1));
}
