//! Stores and limiters on servers that tests start.

use std::time::{Duration, Instant};

use slidegate::store::redis::RedisConfig;
use slidegate::{AsyncLimiter, Fallback, Limit, Limiter, Redis, RedisLimiter, Source, Store};
use slidegate_testkit::servers::{RedisServer, RespReply};

/// More than anything takes that is not stopped on purpose: a busy machine is no failure.
const PATIENT: Duration = Duration::from_secs(20);

/// Waits for as long as it takes.
pub(crate) fn patient(url: &str) -> RedisConfig {
    RedisConfig::parse(url).expect("a URL").timeout(PATIENT).connect_timeout(PATIENT)
}

/// A limiter that asks nobody but the store, so that its errors are seen.
pub(crate) fn direct(store: &Redis, limits: impl IntoIterator<Item = Limit>) -> AsyncLimiter<Redis> {
    Limiter::builder(limits).store(store.clone()).build_async().expect("limits that can stand side by side")
}

/// A limiter on one of so many nodes, which decides by itself when the store does not.
pub(crate) fn guarded(store: Redis, nodes: u32, limits: impl IntoIterator<Item = Limit>) -> RedisLimiter {
    let store = Fallback::new(store, nodes);
    Limiter::builder(limits).store(store).build_async().expect("limits that can stand side by side")
}

pub(crate) fn limit(quota: u64, window_ms: u64) -> Limit {
    Limit::new(quota, Duration::from_millis(window_ms)).expect("a limit")
}

/// How many scripts the server was asked to run since it started.
pub(crate) fn scripts_run(server: &RedisServer) -> u64 {
    let stats = server.command(&["INFO", "commandstats"]).text();
    let calls = stats.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("cmdstat_eval")?.split_once(":calls=")?;
        matches!(name, "" | "sha").then(|| rest.split(',').next()?.parse::<u64>().ok())?
    });
    calls.sum()
}

/// All keys of the server's database 0, in order.
pub(crate) fn keys(server: &RedisServer) -> Vec<String> {
    let mut keys: Vec<String> = server.command(&["KEYS", "*"]).items().iter().map(RespReply::text).collect();
    keys.sort();
    keys
}

/// What a key has used of the first limit.
pub(crate) async fn used<S: Store>(limiter: &AsyncLimiter<S>, key: &str) -> u64 {
    let verdict = limiter.peek(key).await.expect("a decision");
    assert_eq!(verdict.source, Source::Store);
    limiter.limits()[0].quota() - verdict.decisions[0].remaining
}

/// Asks again until it is so, which has to be within five times the two seconds that a recovery may
/// take.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(10), "waited in vain for {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Looks until the answers come from there.
pub(crate) async fn until_from(limiter: &RedisLimiter, source: Source) {
    let answered = async || limiter.peek("key").await.expect("a decision").source == source;
    eventually("answers from there", answered).await;
}
