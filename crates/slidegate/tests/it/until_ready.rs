//! Waiting for one's turn, in time that tokio moves: first come, first served, key by key.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use slidegate::{Clock, Limit, Limiter, Memory, WaitError};
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep, timeout};

/// A clock that goes with tokio's, so that paused time is the limiter's time too.
struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        1_000_000 + u64::try_from(self.0.elapsed().as_millis()).expect("a short test")
    }
}

type Waiting = Limiter<Memory, TokioClock>;

fn limiter(limit: Limit) -> Arc<Waiting> {
    Arc::new(Limiter::builder([limit]).clock(TokioClock(Instant::now())).build().expect("a limiter"))
}

async fn ready(limiter: &Waiting, key: &str) -> bool {
    match limiter.until_ready(key).await {
        Ok(verdict) => verdict.is_allowed(),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(start_paused = true)]
async fn first_come_first_served() {
    let (limiter, start) = (limiter(Limit::per_second(2)), Instant::now());
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = JoinSet::new();
    for n in 0..9_u64 {
        let (limiter, order) = (limiter.clone(), order.clone());
        tasks.spawn(async move {
            assert!(ready(&limiter, "key").await);
            order.lock().expect("no panic").push((n, start.elapsed().as_millis()));
        });
    }
    tasks.join_all().await;
    let expected: Vec<(u64, u128)> = (0..9).map(|n| (n, u128::from(n / 2) * 1_000)).collect();
    assert_eq!(*order.lock().expect("no panic"), expected);
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_bounded_and_takes_nothing() {
    let limiter = limiter(Limit::per_second(1));
    assert!(ready(&limiter, "key").await);
    let waited = timeout(Duration::from_millis(999), ready(&limiter, "key")).await;
    assert!(waited.is_err(), "it does not fit before a second has passed");
    advance(Duration::from_millis(1)).await;
    assert!(limiter.check("key").is_allowed(), "who gave up took nothing");
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_does_not_hold_up_the_line() {
    let (limiter, start) = (limiter(Limit::per_second(1)), Instant::now());
    assert!(ready(&limiter, "key").await);
    let mut waiting: Vec<_> = Vec::new();
    for n in 0..3 {
        let limiter = limiter.clone();
        waiting.push(tokio::spawn(async move { (n, ready(&limiter, "key").await, start.elapsed()) }));
        tokio::task::yield_now().await;
    }
    // The first in the line, which sleeps, and one behind it.
    waiting.remove(0).abort();
    waiting.remove(0).abort();
    let last = waiting.remove(0).await.expect("a task that ends");
    assert_eq!(last, (2, true, Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn what_never_fits_is_an_error_at_once() {
    let (limiter, start) = (limiter(Limit::per_second(5)), Instant::now());
    let error = limiter.until_ready_n("key", 6).await.expect_err("six do not fit in five");
    assert_eq!(error, WaitError::NeverFits { cost: 6 });
    assert_eq!(error.to_string(), "cost 6 exceeds the limit and can never be admitted");
    let of_any_store = limiter.to_async().until_ready_n("key", 6).await;
    assert_eq!(of_any_store, Err(WaitError::NeverFits { cost: 6 }));
    assert_eq!(start.elapsed(), Duration::ZERO);
    let verdict = limiter.until_ready_n("key", 5).await.expect("five fit");
    assert!(verdict.is_allowed());
}

#[tokio::test(start_paused = true)]
async fn a_large_cost_is_not_overtaken() {
    let (limiter, start) = (limiter(Limit::per_second(5)), Instant::now());
    assert!(limiter.check_n("key", 3).is_allowed());
    let large = {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            let verdict = limiter.until_ready_n("key", 5).await.expect("five fit");
            (verdict.is_allowed(), start.elapsed())
        })
    };
    tokio::task::yield_now().await;
    assert!(ready(&limiter, "key").await, "one unit would have fitted before");
    assert_eq!(start.elapsed(), Duration::from_secs(2));
    assert_eq!(large.await.expect("a task that ends"), (true, Duration::from_secs(1)));
}

#[tokio::test(start_paused = true)]
async fn keys_do_not_wait_for_each_other() {
    let (limiter, start) = (limiter(Limit::per_second(1)), Instant::now());
    assert!(ready(&limiter, "alice").await);
    let waiting = limiter.clone();
    let alice = tokio::spawn(async move { ready(&waiting, "alice").await });
    tokio::task::yield_now().await;
    assert!(ready(&limiter, "bob").await);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert!(alice.await.expect("a task that ends"));
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_released_slot_is_free_before_its_hold_ends() {
    let limit = Limit::in_flight(1, Duration::from_secs(30)).expect("in flight");
    let (limiter, start) = (limiter(limit), Instant::now());
    let permit = limiter.reserve("key", 1).expect("permits are given").permit.expect("admitted");
    let waiting = limiter.clone();
    let next = tokio::spawn(async move { ready(&waiting, "key").await });
    sleep(Duration::from_millis(110)).await;
    limiter.refund(&permit).expect("a permit of ours");
    assert!(next.await.expect("a task that ends"));
    assert_eq!(start.elapsed(), Duration::from_millis(120), "asked again every 20 ms");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_an_error_and_leaves_room_for_other_keys() {
    let clock = TokioClock(Instant::now());
    let limiter = Limiter::builder([Limit::per_second(1)]).max_waiting(2 * 16).clock(clock).build();
    let limiter = Arc::new(limiter.expect("a limiter"));
    assert!(ready(&limiter, "hot").await && ready(&limiter, "cold").await);
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        let limiter = limiter.clone();
        waiting.spawn(async move { ready(&limiter, "hot").await });
    }
    tokio::task::yield_now().await;
    let error = limiter.until_ready("hot").await.expect_err("two wait already");
    assert_eq!(error, WaitError::QueueFull);
    assert!(ready(&limiter, "cold").await);
    assert!(waiting.join_all().await.into_iter().all(|admitted| admitted));
}
