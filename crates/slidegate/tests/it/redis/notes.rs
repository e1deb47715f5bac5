//! Notes in Redis: as in memory, on every server, and the same for all nodes.

use std::cell::Cell;
use std::time::Duration;

use slidegate::store::redis::RedisConfig;
use slidegate::store::{ForgetRequest, PostOutcome};
use slidegate::{Fallback, Limit, Memory, Redis, Space, Store};
use slidegate_testkit::cases::prove_part;
use slidegate_testkit::servers::{Cluster, Flavour, RedisServer};
use tokio::runtime::Runtime;

use crate::notes::{NOW_MS, Step, generate, keeps_its_bounds, note, take};
use crate::redis::cross_slot::config;
use crate::redis::stores::{keys, patient};

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Every case has notes of its own, by its prefix; two stores read them, and one of
/// the two changes them.
fn compare(all: &RedisConfig) {
    let (runtime, cases) = (runtime(), Cell::new(0));
    prove_part(100, generate, |(), steps| {
        cases.set(cases.get() + 1);
        let config = all.clone().prefix(format!("case{}:", cases.get())).expect("a prefix");
        let [redis, other] = [0; 2].map(|_| Redis::by_callers_clock(&config));
        let (memory, mut now_ms) = (Memory::new(0), NOW_MS);
        for step in steps {
            if let Step::Forward { ms } = step {
                now_ms += ms;
            }
            let (answer, stored, expected) = runtime.block_on(async {
                let answer = take(&redis, step, now_ms).await;
                (answer, other.notes().await.expect("notes").notes, take(&memory, step, now_ms).await)
            });
            if (&answer, &stored) != (&expected, &answer.1) {
                let answer = format!("redis  {answer:?}\n  other  {stored:?}");
                return Err(format!("{step:?} at {now_ms}\n  memory {expected:?}\n  {answer}"));
            }
        }
        Ok(())
    });
}

#[test]
fn redis_says_what_memory_says() {
    std::thread::scope(|scope| {
        for flavour in Flavour::all() {
            scope.spawn(move || compare(&patient(&RedisServer::start(flavour).url())));
        }
    });
}

#[test]
fn a_cluster_says_what_memory_says() {
    compare(&config(&Cluster::start(Flavour::Redis70)));
}

#[tokio::test]
async fn it_keeps_its_bounds() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        keeps_its_bounds(&Redis::by_callers_clock(&patient(&server.url()))).await;
        assert_eq!(keys(&server), ["sg:{board}"], "{flavour:?}");
    }
}

/// By the server's clock: what has expired stays until the next note comes.
#[tokio::test]
async fn the_server_tells_when_a_note_has_expired() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let store = Redis::new(&patient(&server.url()));
        let (old, new) = (note("old", "", 1), note("new", "", u64::MAX));
        assert_eq!(store.post(&old, u64::MAX).await, Ok(PostOutcome::Done));
        assert_eq!(store.notes().await.expect("notes").notes, [old]);
        // What the caller thinks of the time does not matter.
        assert_eq!(store.post(&new, 0).await, Ok(PostOutcome::Done));
        assert_eq!(store.post(&note("newer", "", u64::MAX), u64::MAX).await, Ok(PostOutcome::Done));
        assert_eq!(store.notes().await.expect("notes").notes, [new, note("newer", "", u64::MAX)]);
    }
}

/// A server that lost everything has other notes, even if there are as many as before.
#[tokio::test]
async fn an_emptied_server_is_noticed() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let [here, there] = [0; 2].map(|_| Redis::new(&patient(&server.url())));
        assert_eq!(here.post(&note("a", "before", u64::MAX), 0).await, Ok(PostOutcome::Done));
        let before = there.notes().await.expect("notes");
        server.must(&["FLUSHALL"]);
        assert_eq!(here.post(&note("a", "after", u64::MAX), 0).await, Ok(PostOutcome::Done));
        let after = there.notes().await.expect("notes");
        assert!(after.version > before.version, "{before:?} to {after:?}");
        assert_eq!(after.notes, [note("a", "after", u64::MAX)]);
        server.must(&["FLUSHALL"]);
        assert_eq!(there.notes().await.expect("notes"), slidegate::store::Notes::default());
    }
}

/// Notes that move to another node of the Cluster are found there.
#[tokio::test]
async fn notes_follow_their_slot() {
    let cluster = Cluster::start(Flavour::Redis70);
    let store = Redis::new(&config(&cluster));
    assert_eq!(store.post(&note("a", "", u64::MAX), 0).await, Ok(PostOutcome::Done));
    let slot = cluster.slot_of("sg:{board}");
    let to = (cluster.primary_of(slot) + 1) % 3;
    let migration = cluster.begin_migration(slot, to);
    cluster.move_keys(&migration);
    assert_eq!(store.post(&note("b", "", u64::MAX), 0).await, Ok(PostOutcome::Done), "on its way");
    cluster.finish_migration(&migration);
    assert_eq!(store.withdraw("a").await, Ok(true));
    assert_eq!(store.notes().await.expect("notes").notes, [note("b", "", u64::MAX)]);
}

/// Nothing takes the place of a store that does not answer: an operator has to know.
#[tokio::test]
async fn a_missing_answer_is_an_error() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let config = patient(&server.url()).timeout(Duration::from_millis(500));
    let store = Fallback::new(Redis::new(&config), 1);
    assert_eq!(store.post(&note("a", "", u64::MAX), 0).await, Ok(PostOutcome::Done));
    server.kill();
    let (key, limits) = ("key".into(), [Limit::per_hour(1).id()]);
    let subject = ForgetRequest { space: Space::named(""), key: &key, limits: &limits };
    assert!(store.forget(&subject).await.is_err());
    assert!(store.post(&note("b", "", u64::MAX), 0).await.is_err());
    assert!(store.withdraw("a").await.is_err() && store.notes().await.is_err());
}
