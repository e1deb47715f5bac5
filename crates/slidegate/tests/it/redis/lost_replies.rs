//! A script that ran, but whose reply got lost: its caller is told that nothing is known, and it is
//! never sent again.

use std::sync::Arc;
use std::time::Duration;

use slidegate::store::redis::{RedisConfig, RedisError};
use slidegate::{AsyncLimiter, Limit, Redis, Source};
use slidegate_testkit::servers::{AfterDrop, Flavour, Proxy, RedisServer};
use tokio::task::JoinSet;

use crate::redis::stores::{direct, eventually, guarded, patient, until_from, used};

/// A way to a server through a proxy, and one beside it that sees what really was charged.
struct Lossy {
    proxy: Proxy,
    limiter: AsyncLimiter<Redis>,
    beside: AsyncLimiter<Redis>,
    _server: RedisServer,
}

impl Lossy {
    fn start(flavour: Flavour) -> Self {
        let server = RedisServer::start(flavour);
        let proxy = Proxy::start(server.port());
        let limits = [Limit::per_hour(1_000_000)];
        let beside = direct(&Redis::new(&patient(&server.url())), limits);
        let limiter = direct(&Redis::new(&hasty(&proxy.url())), limits);
        Self { proxy, limiter, beside, _server: server }
    }

    /// Everything works again, the store has found out, and the server knows the script of a check.
    async fn mend(&self) {
        self.proxy.pass();
        eventually("an answer", async || self.limiter.check("another key").await.is_ok()).await;
    }
}

/// Gives up soon, and looks again soon.
fn hasty(url: &str) -> RedisConfig {
    let cooldown = Duration::from_millis(10)..=Duration::from_millis(50);
    RedisConfig::parse(url).expect("a URL").timeout(Duration::from_millis(500)).breaker_cooldown(cooldown)
}

/// Calls one after the other that lose their replies: each is an error, and charged at most once.
/// Goes on until so many of them have run: a connection may also close because it was the reply to
/// something else that got lost, and what is then written to it never arrives.
async fn replies_are_lost(then: AfterDrop, calls: u64) {
    let lossy = Lossy::start(Flavour::Redis70);
    let (mut ran, mut made) = (0, 0);
    while ran < calls {
        assert!(made < 2 * calls, "of {made} calls only {ran} ran, {then:?}");
        lossy.mend().await;
        lossy.proxy.drop_replies(then);
        let error = lossy.limiter.check("key").await.expect_err("no reply");
        match then {
            AfterDrop::Close => assert!(matches!(error, RedisError::Lost(_)), "{error}"),
            AfterDrop::Hang => assert_eq!(error, RedisError::TimedOut),
        }
        lossy.mend().await;
        let before = std::mem::replace(&mut ran, used(&lossy.beside, "key").await);
        assert!(ran == before || ran == before + 1, "{before}, then {ran}, {then:?}");
        made += 1;
    }
}

#[tokio::test]
async fn what_ran_before_its_connection_closed_is_not_sent_again() {
    replies_are_lost(AfterDrop::Close, 20).await;
}

#[tokio::test]
async fn what_ran_before_its_connection_hung_is_not_sent_again() {
    replies_are_lost(AfterDrop::Hang, 5).await;
}

/// Many calls at once, together in scripts or on their way, when replies begin to get lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_calls_at_once_none_is_charged_twice() {
    for flavour in Flavour::all() {
        for then in [AfterDrop::Close, AfterDrop::Hang] {
            let mut lossy = Lossy::start(flavour);
            lossy.mend().await;
            let limiter = Arc::new(lossy.limiter);
            let mut tasks = JoinSet::new();
            for _ in 0..200 {
                let limiter = limiter.clone();
                tasks.spawn(async move { limiter.check("key").await });
            }
            lossy.proxy.drop_replies(then);
            let answers = tasks.join_all().await;
            let admitted = answers.iter().flatten().filter(|verdict| verdict.is_allowed()).count() as u64;
            lossy.limiter = Arc::into_inner(limiter).expect("no task is left");
            lossy.mend().await;
            let used = used(&lossy.beside, "key").await;
            assert!((admitted..=200).contains(&used), "{used} of 200 calls, {admitted} known, {flavour:?}");
        }
    }
}

/// A byte that answers nothing is no sign that the rest will come.
#[tokio::test]
async fn a_connection_that_breaks_off_in_a_reply_is_left() {
    let lossy = Lossy::start(Flavour::Redis70);
    lossy.mend().await;
    lossy.proxy.break_off();
    assert_eq!(lossy.limiter.check("key").await, Err(RedisError::TimedOut));
    lossy.mend().await;
    assert_eq!(used(&lossy.beside, "key").await, 1);
}

#[tokio::test]
async fn who_can_decide_alone_does_so_when_a_reply_is_lost() {
    for then in [AfterDrop::Close, AfterDrop::Hang] {
        let lossy = Lossy::start(Flavour::Redis70);
        let limiter = guarded(Redis::new(&hasty(&lossy.proxy.url())), 1, [Limit::per_hour(1_000_000)]);
        until_from(&limiter, Source::Store).await;
        let failures = limiter.store().failures();
        lossy.proxy.drop_replies(then);
        let verdict = limiter.check("key").await.expect("a decision");
        assert_eq!((verdict.is_allowed(), verdict.source), (true, Source::Local), "{then:?}");
        assert_eq!(limiter.store().failures(), failures + 1);
    }
}
