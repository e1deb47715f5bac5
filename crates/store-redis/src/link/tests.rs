//! The link against real servers. What is asserted throughout is the count: a call that came back
//! was counted once, one that surely did not run was not, and one that may have run was counted at
//! most once.

mod cluster;
mod outages;
mod sentinel;
mod server;
mod streams;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use self::server::{FakeServer, SURELY, until};
use super::*;
use crate::invocation::Script;

/// Counts under every key, and answers with the counts.
fn counting() -> Arc<Script> {
    let text = "local out = {} for i, key in ipairs(KEYS) do \
                out[i] = string.format('%08d', redis.call('INCRBY', key, ARGV[i + 1])) end return table.concat(out)";
    let sha = redis::Script::new(text).get_hash().to_owned();
    Arc::new(Script { text: text.to_owned(), sha, record_bytes: Some(8) })
}

fn count_one(key: &str) -> Invocation {
    Invocation {
        script: counting(),
        slot: slot_of(key.as_bytes()),
        head: vec![b"head".to_vec()],
        keys: vec![key.as_bytes().to_vec()],
        arguments: vec![b"1".to_vec()],
    }
}

fn soon() -> Instant {
    Instant::now() + Duration::from_millis(200)
}

fn late() -> Instant {
    Instant::now() + SURELY
}

fn number(reply: &[u8]) -> u64 {
    std::str::from_utf8(reply).unwrap().parse().unwrap()
}

fn link_to(server: &FakeServer) -> RedisLink {
    RedisLink::new(&RedisConfig::parse(&server.url()).unwrap())
}

/// What came of many calls.
#[derive(Default, Debug)]
struct CallCounts {
    done: u64,
    unsure: u64,
    not_run: u64,
}

impl CallCounts {
    fn add(&mut self, result: &Result<Vec<u8>, CallFailure>) {
        match result {
            Ok(_) => self.done += 1,
            Err(CallFailure::MayHaveRun(_)) => self.unsure += 1,
            Err(CallFailure::NotRun(_)) => self.not_run += 1,
        }
    }

    fn assert_fits(&self, counted: u64) {
        assert!((self.done..=self.done + self.unsure).contains(&counted), "{counted} counted, {self:?}");
    }
}

async fn evalsha_calls(server: &FakeServer) -> u64 {
    let stats: String = server.ask(&["INFO", "commandstats"]).await;
    let calls = stats.split("cmdstat_evalsha:calls=").nth(1).and_then(|rest| rest.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn requests_at_the_same_time_travel_together_and_get_their_own_answers() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    assert_eq!(number(&link.call(count_one("k"), late()).await.unwrap()), 1);
    let before = evalsha_calls(&server).await;
    let replies = join_all((0..320).map(|_| link.call(count_one("k"), late()))).await;
    let mut counts: Vec<u64> = replies.into_iter().map(|reply| number(&reply.unwrap())).collect();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(2..=321));
    let calls = evalsha_calls(&server).await - before;
    assert!((20..=30).contains(&calls), "{calls} calls");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_that_the_server_forgets_are_sent_again_and_count_once() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    for round in 1..=20 {
        let _: String = server.ask(&["SCRIPT", "FLUSH"]).await;
        let calls = (0..100).map(|_| {
            let link = link.clone();
            tokio::spawn(async move { link.call(count_one("k"), late()).await })
        });
        for result in join_all(calls).await {
            result.unwrap().unwrap();
        }
        assert_eq!(server.count("k").await, round * 100);
    }
}

#[tokio::test]
async fn a_script_that_answers_one_request_gets_its_whole_reply() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    for (text, expected) in
        [("return ARGV[1] .. ARGV[2]", &b"hw"[..]), ("return redis.status_reply('FINE')", b"FINE")]
    {
        let script = Script { text: text.to_owned(), sha: "none".repeat(10), record_bytes: None };
        let invocation =
            Invocation { script: Arc::new(script), arguments: vec![b"w".to_vec()], ..count_one("k") };
        let invocation = Invocation { head: vec![b"h".to_vec()], ..invocation };
        assert_eq!(link.call(invocation, late()).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn errors_of_the_server_are_passed_on() {
    let server = FakeServer::start(&["--maxmemory", "1"]).await;
    let link = link_to(&server);
    let failure = link.call(count_one("k"), late()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Refused { code, .. }) if code == "OOM"),
        "{failure:?}"
    );
    assert_eq!(link.health()[0].1, CircuitState::Closed);
}

#[tokio::test]
async fn servers_that_are_set_up_badly_are_warned_of() {
    let server = FakeServer::start(&["--maxmemory-policy", "allkeys-lru"]).await;
    let _: String = server
        .ask(&["ACL", "SETUSER", "mute", "on", ">pw", "~*", "+@all", "-config", "-eval", "-evalsha"])
        .await;
    let url = format!("redis://mute:pw@127.0.0.1:{}", server.port);
    let link = RedisLink::new(&RedisConfig::parse(&url).unwrap());
    let failure = link.call(count_one("k"), late()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Refused { code, .. }) if code == "NOPERM"),
        "{failure:?}"
    );
    until("both are found", async || link.warnings().len() == 2).await;
    let warnings: Vec<String> = link.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings[0].contains("noeviction (now allkeys-lru)"), "{warnings:?}");
    assert!(warnings[1].contains("allow EVAL and EVALSHA"), "{warnings:?}");
}

#[test]
fn a_link_outlives_its_runtimes() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let keeper = runtime();
    let server = keeper.block_on(FakeServer::start(&[]));
    let link = link_to(&server);
    for expected in 1..=3 {
        let reply = runtime().block_on(link.call(count_one("k"), late()));
        assert_eq!(number(&reply.unwrap()), expected);
    }
}
