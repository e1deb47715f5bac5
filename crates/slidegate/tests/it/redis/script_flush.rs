//! A server may forget its scripts at any time: they are sent again, and nobody notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use slidegate::{AsyncLimiter, Limit, Redis};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::task::JoinSet;

use crate::redis::stores::{direct, patient, used};

const QUOTA: u32 = 1_000_000;
const TASKS: u64 = 8;
const FLUSHES: u64 = 50;

/// Has the server forget its scripts again and again, while `flushed` is below what is wanted.
fn flush(server: &RedisServer, flushed: &AtomicU64) {
    while flushed.load(Ordering::SeqCst) < FLUSHES {
        server.must(&["SCRIPT", "FLUSH"]);
        flushed.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(10));
    }
}

/// Charges a key that all tasks share and one of its own until all flushes are done. Gives what
/// each was admitted.
async fn load(limiter: Arc<AsyncLimiter<Redis>>, task: u64, flushed: Arc<AtomicU64>) -> [u64; 2] {
    let (own, mut admitted) = (format!("own {task}"), [0; 2]);
    for turn in 0.. {
        let cost = turn % 3 + 1;
        for (key, admitted) in ["shared", &own].into_iter().zip(&mut admitted) {
            let verdict = limiter.check_n(key, cost).await.expect("a decision");
            *admitted += if verdict.is_allowed() { cost } else { 0 };
        }
        if flushed.load(Ordering::SeqCst) >= FLUSHES {
            break;
        }
    }
    admitted
}

async fn scripts_vanish_under_load(flavour: Flavour) {
    let server = Arc::new(RedisServer::start(flavour));
    let limits = [Limit::per_hour(QUOTA), Limit::per_day(QUOTA).counter().expect("a limit")];
    let limiter = Arc::new(direct(&Redis::new(&patient(&server.url())), limits));
    let flushed = Arc::new(AtomicU64::new(0));
    let flushing = thread::spawn({
        let (server, flushed) = (server.clone(), flushed.clone());
        move || flush(&server, &flushed)
    });
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let load = load(limiter.clone(), task, flushed.clone());
        tasks.spawn(async move { (task, load.await) });
    }
    let mut shared = 0;
    for (task, [of_shared, of_own]) in tasks.join_all().await {
        shared += of_shared;
        assert_eq!(used(&limiter, &format!("own {task}")).await, of_own, "{flavour:?}");
    }
    assert_eq!(used(&limiter, "shared").await, shared, "{flavour:?}");
    flushing.join().expect("no panic");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_vanish_under_load_are_sent_again_and_nothing_is_charged_twice() {
    for flavour in Flavour::all() {
        scripts_vanish_under_load(flavour).await;
    }
}

/// A limiter of 100 that many tasks ask at once, while scripts vanish, admits 100.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_is_exact_while_scripts_vanish() {
    let server = Arc::new(RedisServer::start(Flavour::Redis70));
    let config = patient(&server.url()).deny_cache(Duration::ZERO);
    let limiter = Arc::new(direct(&Redis::new(&config), [Limit::per_hour(100)]));
    let flushed = Arc::new(AtomicU64::new(0));
    let flushing = thread::spawn({
        let (server, flushed) = (server.clone(), flushed.clone());
        move || flush(&server, &flushed)
    });
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (limiter, flushed) = (limiter.clone(), flushed.clone());
        tasks.spawn(async move {
            let mut admitted = 0;
            while flushed.load(Ordering::SeqCst) < FLUSHES {
                admitted += u64::from(limiter.check("key").await.expect("a decision").is_allowed());
            }
            admitted
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<u64>(), 100);
    flushing.join().expect("no panic");
}
