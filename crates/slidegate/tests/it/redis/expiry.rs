//! How long keys live, by the server's own clock: until their state means nothing, and at most an
//! eighth of a window longer.

use std::ops::RangeInclusive;
use std::time::Duration;

use slidegate::store::{Charge, ChargeRequest};
use slidegate::{AsyncLimiter, Limit, LimitKind, Limiter, Redis, Resolution, Space, Store, Verdict};
use slidegate_testkit::servers::{Flavour, RedisServer, RespReply};

use crate::redis::stores::{direct, eventually, keys, limit, patient};

/// Long enough that aligned windows hardly ever end in the middle of a test.
const WINDOW_MS: u64 = 86_400_000;

/// Every kind, with a quota of 4.
fn kinds(window_ms: u64) -> [Limit; 6] {
    let log = limit(4, window_ms);
    let kinds = [
        log.resolution(Resolution::Ms(window_ms / 50)),
        log.counter(),
        log.fixed(),
        log.gcra(4),
        Limit::in_flight(4, Duration::from_millis(window_ms)),
    ];
    let [coarse, counter, fixed, gcra, in_flight] = kinds.map(|limit| limit.expect("a limit"));
    [log, coarse, counter, fixed, gcra, in_flight]
}

fn is_gcra(limit: &Limit) -> bool {
    matches!(limit.kind(), LimitKind::Gcra { .. })
}

fn time_ms(server: &RedisServer) -> u64 {
    let parts: Vec<u64> =
        server.command(&["TIME"]).items().iter().map(|part| part.text().parse().expect("a number")).collect();
    parts[0] * 1000 + parts[1] / 1000
}

fn number(reply: &RespReply) -> u64 {
    match reply {
        RespReply::Int(number) => u64::try_from(*number).unwrap_or_else(|_| panic!("no expiry: {number}")),
        other => panic!("not a number: {other:?}"),
    }
}

/// When a key expires. Before 7.0 a server tells only how long that is from now.
fn expiry(server: &RedisServer, key: &str) -> RangeInclusive<u64> {
    if let reply @ RespReply::Int(_) = server.command(&["PEXPIRETIME", key]) {
        return number(&reply)..=number(&reply);
    }
    let before = time_ms(server);
    let left_ms = number(&server.command(&["PTTL", key]));
    before + left_ms..=time_ms(server) + left_ms
}

/// The only key lives as long as this answer says that its state matters.
fn assert_lives_by(server: &RedisServer, limit: Limit, verdict: &Verdict) {
    let [key] = &keys(server)[..] else { panic!("{:?} of {limit}", keys(server)) };
    assert_key_lives_by(server, key, limit, verdict);
}

fn assert_key_lives_by(server: &RedisServer, key: &str, limit: Limit, verdict: &Verdict) {
    let resets_ms = verdict.decided_at_ms + verdict.reset_after_ms().expect("somebody looked");
    let expires_ms = expiry(server, key);
    assert!(*expires_ms.end() >= resets_ms, "{limit}: {expires_ms:?} is before {resets_ms}");
    let latest_ms = resets_ms + limit.window_ms() / 8;
    assert!(*expires_ms.start() <= latest_ms, "{limit}: {expires_ms:?} is after {latest_ms}");
}

fn is_permit_hash(server: &RedisServer, key: &str) -> bool {
    server.command(&["TYPE", key]).text() == "hash"
}

fn limiter(server: &RedisServer, limit: Limit) -> AsyncLimiter<Redis> {
    direct(&Redis::new(&patient(&server.url()).deny_cache(Duration::ZERO)), [limit])
}

async fn charge(limiter: &AsyncLimiter<Redis>, cost: u64) -> Verdict {
    limiter.check_n("key", cost).await.expect("a decision")
}

#[tokio::test]
async fn a_key_lives_until_its_reset() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        for limit in kinds(WINDOW_MS) {
            server.must(&["FLUSHALL"]);
            let limiter = limiter(&server, limit);
            let _ = charge(&limiter, 0).await;
            assert_eq!(keys(&server), [""; 0], "a look leaves nothing");
            for _ in 0..4 {
                assert_lives_by(&server, limit, &charge(&limiter, 1).await);
            }
        }
    }
}

/// Those who are denied do not keep a key alive, nor do those who look.
#[tokio::test]
async fn neither_denials_nor_looks_have_a_key_live_longer() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        for limit in kinds(WINDOW_MS) {
            server.must(&["FLUSHALL"]);
            let limiter = limiter(&server, limit);
            let admitted = charge(&limiter, 4).await;
            assert!(admitted.is_allowed());
            for cost in [4, 0, 4, 5] {
                tokio::time::sleep(Duration::from_millis(2)).await;
                assert_eq!(charge(&limiter, cost).await.is_allowed(), cost == 0, "{limit}");
                assert_lives_by(&server, limit, &admitted);
            }
        }
    }
}

#[tokio::test]
async fn a_refund_sets_it_right() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        for limit in kinds(WINDOW_MS).into_iter().filter(|limit| !is_gcra(limit)) {
            server.must(&["FLUSHALL"]);
            let store = Redis::new(&patient(&server.url()));
            let limiter =
                Limiter::builder([limit]).refundable().store(store).build_async().expect("a limiter");
            let mut permits = Vec::new();
            for _ in 0..2 {
                let reserved = limiter.reserve("key", 1).await.expect("a reservation");
                permits.push(reserved.permit.expect("a permit"));
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let (permit_keys, states): (Vec<String>, Vec<String>) =
                keys(&server).into_iter().partition(|key| is_permit_hash(&server, key));
            let ([_], [state]) = (&permit_keys[..], &states[..]) else { panic!("permits and a state") };
            limiter.refund(&permits[1]).await.expect("a refund");
            let verdict = limiter.peek("key").await.expect("a decision");
            assert_eq!(keys(&server).len(), 2, "what was used takes nothing more");
            assert_key_lives_by(&server, state, limit, &verdict);
            limiter.refund(&permits[0]).await.expect("a refund");
            assert!(!keys(&server).contains(state), "{limit}: nothing is left to remember");
        }
    }
}

#[tokio::test]
async fn so_do_returned_units() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        for limit in kinds(WINDOW_MS).into_iter().filter(|limit| !limit.needs_id()) {
            server.must(&["FLUSHALL"]);
            let limiter = limiter(&server, limit);
            for _ in 0..3 {
                let _ = charge(&limiter, 1).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let (key, limits) = ("key".into(), [limit]);
            for (units, is_left) in [(1, true), (1, true), (1, false)] {
                let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost: units }];
                let call = ChargeRequest { now_ms: 0, holder: 0, charges: &charges };
                let verdict = limiter.store().give_back(&call).await.expect("an answer");
                if is_left {
                    assert_lives_by(&server, limit, &verdict);
                }
                assert_eq!(keys(&server).len(), usize::from(is_left), "{limit}");
            }
        }
    }
}

/// Every write renews what the key has left, where that is too little.
#[tokio::test]
async fn what_is_written_steadily_lives_on() {
    let server = RedisServer::start(Flavour::Redis70);
    for limit in kinds(800).map(|limit| Limit::from_words(enlarged(limit)).expect("a limit")) {
        server.must(&["FLUSHALL"]);
        let limiter = limiter(&server, limit);
        for _ in 0..120 {
            let verdict = charge(&limiter, 1).await;
            assert!(verdict.is_allowed());
            let resets_ms = verdict.decided_at_ms + verdict.reset_after_ms().expect("somebody looked");
            // With less than that the key may be gone before it is looked at.
            if resets_ms > time_ms(&server) + 300 {
                assert_lives_by(&server, limit, &verdict);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// With a quota that is never used up.
fn enlarged(limit: Limit) -> [u64; 4] {
    let [head, _, window_ms, extra] = limit.to_words();
    let extra = if is_gcra(&limit) { 10_000 } else { extra };
    [head, 10_000, window_ms, extra]
}

#[tokio::test]
async fn in_the_end_nothing_is_left() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        for limit in kinds(300) {
            let _ = charge(&direct(&store, [limit]), 1).await;
        }
        let limiter = Limiter::builder([limit(4, 300)]).name("refunds").refundable().store(store);
        let limiter = limiter.build_async().expect("a limiter");
        let permit = limiter.reserve("key", 1).await.expect("a reservation").permit.expect("a permit");
        limiter.refund(&permit).await.expect("a refund");
        eventually("an empty server", async || server.command(&["DBSIZE"]) == RespReply::Int(0)).await;
    }
}
