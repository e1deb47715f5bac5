//! Servers that hang, die, come back, or are replaced: decisions keep coming, and come from the
//! store again by themselves.

use std::time::{Duration, Instant};

use slidegate::store::redis::{CircuitState, RedisConfig, RedisError};
use slidegate::{Limit, Redis, RedisLimiter, Source};
use slidegate_testkit::servers::{Flavour, RedisServer, RespReply, Sentinels, wait_for};

use crate::redis::stores::{direct, eventually, guarded, patient, until_from, used};

const QUOTA: u32 = 1_000_000;
const TIMEOUT: Duration = Duration::from_millis(100);

fn limiter(config: &RedisConfig) -> RedisLimiter {
    guarded(Redis::new(config), 1, [Limit::per_hour(QUOTA)])
}

fn health(limiter: &RedisLimiter) -> CircuitState {
    limiter.store().store().health()[0].1
}

/// Checks until `source` answers; every check before that is answered too.
async fn checks_until_from(limiter: &RedisLimiter, source: Source) {
    let admitted_there = async || {
        let verdict = limiter.check("key").await.expect("a decision");
        assert!(verdict.is_allowed());
        verdict.source == source
    };
    eventually("decisions from there", admitted_there).await;
}

#[tokio::test]
async fn a_server_that_hangs_costs_few_time_outs_and_recovers() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = limiter(&RedisConfig::parse(&server.url()).expect("a URL").timeout(TIMEOUT));
        until_from(&limiter, Source::Store).await;
        server.stop();
        let began = Instant::now();
        for _ in 0..1_000 {
            let verdict = limiter.check("key").await.expect("a decision");
            assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Local));
        }
        // One in ten that waited would be more than what opens the breaker and probes after it,
        // however slow the machine.
        assert!(began.elapsed() < 100 * TIMEOUT, "{:?} for 1,000 calls on {flavour:?}", began.elapsed());
        assert_eq!(health(&limiter), CircuitState::Open);
        server.resume();
        checks_until_from(&limiter, Source::Store).await;
        assert_eq!(health(&limiter), CircuitState::Closed);
    }
}

/// What a stopped server still finds to do when it goes on is not more than what was asked.
#[tokio::test]
async fn what_a_server_does_late_it_does_once() {
    let server = RedisServer::start(Flavour::Redis70);
    let limiter = limiter(&RedisConfig::parse(&server.url()).expect("a URL").timeout(TIMEOUT));
    until_from(&limiter, Source::Store).await;
    server.stop();
    for _ in 0..100 {
        let _ = limiter.check("key").await.expect("a decision");
    }
    server.resume();
    until_from(&limiter, Source::Store).await;
    assert!(used(&limiter, "key").await <= 100);
}

#[tokio::test]
async fn a_server_that_dies_is_found_again_on_its_port() {
    for flavour in Flavour::all() {
        let mut server = RedisServer::start(flavour);
        let limiter = limiter(&RedisConfig::parse(&server.url()).expect("a URL").timeout(TIMEOUT));
        checks_until_from(&limiter, Source::Store).await;
        server.kill();
        for _ in 0..100 {
            let verdict = limiter.check("key").await.expect("a decision");
            assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Local));
        }
        assert_eq!(health(&limiter), CircuitState::Open);
        server.restart();
        checks_until_from(&limiter, Source::Store).await;
        assert_eq!(used(&limiter, "key").await, 1, "it came back with nothing");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let mut server = RedisServer::start(Flavour::Redis70);
    server.kill();
    let limiter = direct(&Redis::new(&patient(&server.url())), [Limit::per_hour(QUOTA)]);
    let error = limiter.check("key").await.expect_err("nobody is there");
    assert!(matches!(error, RedisError::Unreachable(_)), "{error}");
    assert!(error.to_string().contains(&format!("127.0.0.1:{}", server.port())), "{error}");
}

#[tokio::test]
async fn a_replica_refuses_to_write_until_it_is_a_primary_again() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = direct(&Redis::new(&patient(&server.url())), [Limit::per_hour(QUOTA)]);
        let _ = limiter.check("key").await.expect("a decision");
        server.must(&["REPLICAOF", "127.0.0.1", "1"]);
        let error = limiter.check("key").await.expect_err("it may not write");
        assert!(matches!(&error, RedisError::Refused { code, .. } if code == "READONLY"), "{error}");
        server.must(&["REPLICAOF", "NO", "ONE"]);
        eventually("a decision", async || limiter.check("key").await.is_ok()).await;
        assert_eq!(used(&limiter, "key").await, 2);
    }
}

/// The primary dies, then comes back as a replica and is made the primary again on purpose.
#[tokio::test]
async fn a_limiter_follows_the_primary_that_sentinels_elect() {
    let mut sentinels = Sentinels::start();
    let urls = sentinels.urls();
    let config = RedisConfig::sentinel(urls.iter().map(String::as_str), sentinels.master_name());
    let limiter = limiter(&config.expect("sentinels").timeout(TIMEOUT));
    until_from(&limiter, Source::Store).await;
    for _ in 0..10 {
        checks_until_from(&limiter, Source::Store).await;
    }
    let before = used(&limiter, "key").await;
    // A replica has everything that came before what it has.
    sentinels.wait_for_primary().replicated(&["SET", "mark", "1"]);
    let first = sentinels.kill_primary();
    let verdict = limiter.check("key").await.expect("a decision");
    assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Local));
    sentinels.wait_for_primary();
    checks_until_from(&limiter, Source::Store).await;
    assert_eq!(used(&limiter, "key").await, before + 1);

    sentinels.restart(first);
    sentinels.wait_until_ok();
    sentinels.wait_for_primary().replicated(&["SET", "mark", "2"]);
    let demoted = sentinels.wait_for_primary().port();
    // A replica that came back is trusted again only after it has been heard of for a while.
    wait_for("a failover", || match sentinels.sentinel(0).command(&["SENTINEL", "FAILOVER", "slidegate"]) {
        RespReply::Simple(_) => Ok(()),
        other => Err(format!("{other:?}")),
    });
    let promoted = async || {
        checks_until_from(&limiter, Source::Store).await;
        sentinels.wait_for_primary().port() != demoted
    };
    eventually("another primary", promoted).await;
    eventually("decisions from it", async || {
        let _ = limiter.check("key").await.expect("a decision");
        used(&limiter, "key").await > before + 1
    })
    .await;
}
