//! Keys that somebody else wrote: told, left alone, and no reason to think that the server is in
//! trouble.

use std::time::Duration;

use futures_util::future::join_all;
use slidegate::store::redis::{CircuitState, RedisError};
use slidegate::{AsyncLimiter, Limit, Limiter, Redis};
use slidegate_testkit::servers::{Flavour, RedisServer, RespReply};

use crate::redis::stores::{direct, keys, patient, used};

fn kinds() -> [Limit; 5] {
    let log = Limit::per_day(10);
    let others = [log.counter(), log.fixed(), log.gcra(10), Limit::in_flight(10, Duration::from_secs(3600))];
    let [counter, fixed, gcra, in_flight] = others.map(|limit| limit.expect("a limit"));
    [log, counter, fixed, gcra, in_flight]
}

/// The key of a limiter that was asked once.
async fn only_key(server: &RedisServer, limiter: &AsyncLimiter<Redis>) -> String {
    server.must(&["FLUSHALL"]);
    let _ = limiter.check("key").await.expect("a decision");
    let [key] = &keys(server)[..] else { panic!("one key") };
    key.clone()
}

async fn refusal(limiter: &AsyncLimiter<Redis>, cost: u64) -> (String, String) {
    match limiter.check_n("key", cost).await.expect_err("a value of somebody else") {
        RedisError::Refused { code, text } => (code, text),
        other => panic!("not refused: {other}"),
    }
}

#[tokio::test]
async fn a_format_of_another_version_is_named_and_left_alone() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        for limit in kinds() {
            let limiter = direct(&store, [limit]);
            let key = only_key(&server, &limiter).await;
            server.command(&[b"SETRANGE".as_slice(), key.as_bytes(), b"0", &[99]]);
            let before = server.command(&["GET", &key]);
            for cost in [0, 1, 1, 1, 11] {
                let (code, text) = refusal(&limiter, cost).await;
                assert!(text.contains(&key) && text.contains("format"), "{flavour:?} {limit}: {code} {text}");
            }
            assert_eq!(server.command(&["GET", &key]), before, "{flavour:?} {limit}");
            assert_eq!(store.health()[0].1, CircuitState::Closed);
        }
    }
}

#[tokio::test]
async fn a_key_of_another_type_is_refused_and_left_alone() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        for limit in kinds() {
            let limiter = direct(&store, [limit]);
            let key = only_key(&server, &limiter).await;
            server.command(&["DEL", &key]);
            server.command(&["LPUSH", &key, "element"]);
            for cost in [0, 1, 1, 1] {
                let (code, text) = refusal(&limiter, cost).await;
                assert!(
                    code == "WRONGTYPE" || text.contains("WRONGTYPE"),
                    "{flavour:?} {limit}: {code} {text}"
                );
            }
            assert_eq!(server.command(&["LLEN", &key]), RespReply::Int(1));
            assert_eq!(store.health()[0].1, CircuitState::Closed);
        }
    }
}

/// A value that is cut off, or noise: whatever it is, it is an error and nothing worse.
#[tokio::test]
async fn a_value_that_cannot_be_read_is_refused() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&patient(&server.url()));
    for limit in kinds() {
        let limiter = direct(&store, [limit]);
        let key = only_key(&server, &limiter).await;
        for value in ["\u{1}", "\u{1}short", "x"] {
            server.must(&["SET", &key, value]);
            refusal(&limiter, 1).await;
            assert_eq!(server.command(&["GET", &key]).text(), value, "{limit}");
        }
    }
}

/// Permits that were used are remembered in a key of their own.
#[tokio::test]
async fn spent_permits_of_another_version_are_left_alone() {
    let server = RedisServer::start(Flavour::Redis70);
    let store = Redis::new(&patient(&server.url()));
    let limiter =
        Limiter::builder([Limit::per_day(10)]).refundable().store(store).build_async().expect("a limiter");
    let reserve = async || limiter.reserve("key", 1).await.expect("a reservation").permit.expect("a permit");
    let permits = [reserve().await, reserve().await];
    let state = keys(&server).remove(0);
    limiter.refund(&permits[0]).await.expect("a refund");
    let spent = keys(&server).into_iter().find(|key| *key != state).expect("a key of used permits");
    server.command(&[b"SETRANGE".as_slice(), spent.as_bytes(), b"0", &[99]]);
    let before = [&state, &spent].map(|key| server.command(&["GET", key]));
    let refused = limiter.refund(&permits[1]).await.expect_err("a format of another version").to_string();
    assert!(refused.contains(&spent), "{refused}");
    assert_eq!([&state, &spent].map(|key| server.command(&["GET", key])), before, "nothing is half done");
}

/// Requests that travel with one that meets such a key may fail with it, but then they are charged
/// at most once; and alone they do not fail.
#[tokio::test]
async fn those_that_travel_with_a_foreign_key_are_charged_once_at_most() {
    let server = RedisServer::start(Flavour::Redis70);
    for batch in [16, 1] {
        let store = Redis::new(&patient(&server.url()).max_batch(batch));
        let limiter = direct(&store, [Limit::per_day(1_000)]);
        let key = only_key(&server, &limiter).await;
        server.command(&[b"SETRANGE".as_slice(), key.as_bytes(), b"0", &[99]]);
        let name = |n: usize| if n % 8 == 3 { "key".to_owned() } else { n.to_string() };
        let names: Vec<String> = (0..64).map(name).collect();
        let answers = join_all(names.iter().map(|name| limiter.check(name))).await;
        for (name, answer) in names.iter().zip(answers) {
            if name == "key" {
                assert!(answer.is_err());
                continue;
            }
            assert!(answer.is_ok() || batch > 1, "{name}: {answer:?}");
            let used = used(&limiter, name).await;
            assert!(used == 1 || used == 0 && answer.is_err(), "{name}: {used} after {answer:?}");
        }
    }
}
