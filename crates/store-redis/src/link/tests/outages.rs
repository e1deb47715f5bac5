//! Servers that close connections, hang, or are not there.

use super::server::free_port;
use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_server_closed_while_idle_costs_no_call() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    for round in 1..=100 {
        assert_eq!(number(&link.call(count_one("k"), late()).await.unwrap()), round);
        let _: i64 = server.ask(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    }
    assert_eq!(server.count("k").await, 100);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_break_under_load_count_nothing_twice() {
    let server = FakeServer::start(&[]).await;
    let config = RedisConfig::parse(&server.url()).unwrap().breaker_failures(u32::MAX);
    let link = RedisLink::new(&config);
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let link = link.clone();
            tokio::spawn(async move {
                let mut counts = CallCounts::default();
                while counts.done < 1000 {
                    counts.add(&link.call(count_one("k"), soon()).await);
                }
                counts
            })
        })
        .collect();
    while !workers.iter().all(|worker| worker.is_finished()) {
        let _: i64 = server.ask(&["CLIENT", "KILL", "TYPE", "normal"]).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let mut total = CallCounts::default();
    for counts in join_all(workers).await.into_iter().map(Result::unwrap) {
        total.done += counts.done;
        total.unsure += counts.unsure;
        total.not_run += counts.not_run;
    }
    assert!(total.unsure > 0, "{total:?}");
    total.assert_fits(server.count("k").await);
}

#[tokio::test]
async fn a_server_that_hangs_is_left_alone_and_comes_back() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    let mut counts = CallCounts::default();
    counts.add(&link.call(count_one("k"), late()).await);
    server.signal("STOP");
    let hung = link.call(count_one("k"), Instant::now() + Duration::from_millis(20)).await;
    assert_eq!(hung, Err(CallFailure::MayHaveRun(RedisError::TimedOut)));
    counts.add(&hung);
    until("the breaker opens", async || {
        counts.add(&link.call(count_one("k"), Instant::now() + Duration::from_millis(20)).await);
        link.health()[0].1 == CircuitState::Open
    })
    .await;
    assert_eq!(link.call(count_one("k"), late()).await, Err(CallFailure::NotRun(RedisError::Open)));
    // Probes fail meanwhile, on connections that are made and never answer.
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(700) {
        counts.add(&link.call(count_one("k"), Instant::now() + Duration::from_millis(20)).await);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.signal("CONT");
    let woken = Instant::now();
    until("it is back", async || {
        let result = link.call(count_one("k"), Instant::now() + Duration::from_millis(50)).await;
        counts.add(&result);
        result.is_ok()
    })
    .await;
    assert!(woken.elapsed() < Duration::from_secs(2), "{:?}", woken.elapsed());
    assert_eq!(link.health()[0].1, CircuitState::Closed);
    counts.assert_fits(server.count("k").await);
}

#[tokio::test]
async fn what_was_not_sent_never_runs() {
    let server = FakeServer::start(&[]).await;
    // So that the server knows the script, and would run what is sent to it.
    link_to(&server).call(count_one("other"), late()).await.unwrap();
    let link = link_to(&server);
    server.signal("STOP");
    let unsent = link.call(count_one("k"), Instant::now() + Duration::from_millis(20)).await;
    assert_eq!(unsent, Err(CallFailure::NotRun(RedisError::TimedOut)));
    let dropped = tokio::time::timeout(Duration::from_millis(20), link.call(count_one("k"), late())).await;
    assert!(dropped.is_err());
    server.signal("CONT");
    until("it is back", async || link.call(count_one("other"), soon()).await.is_ok()).await;
    assert_eq!(server.count("k").await, 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_found_when_it_comes() {
    let port = free_port();
    let link = RedisLink::new(&RedisConfig::parse(&format!("redis://127.0.0.1:{port}")).unwrap());
    let failure = link.call(count_one("k"), soon()).await.unwrap_err();
    assert!(matches!(failure, CallFailure::NotRun(RedisError::Unreachable(_))), "{failure:?}");
    assert_eq!(link.call(count_one("k"), late()).await, Err(CallFailure::NotRun(RedisError::Open)));
    let server = FakeServer::start_at(port, &[]).await;
    until("it is found", async || link.call(count_one("k"), soon()).await.is_ok()).await;
    assert_eq!(server.count("k").await, 1);
}

#[tokio::test]
async fn a_full_queue_refuses_at_once() {
    let server = FakeServer::start(&[]).await;
    let config = RedisConfig::parse(&server.url()).unwrap().max_waiting(4).max_batch(100);
    let link = RedisLink::new(&config);
    let results = join_all((0..20).map(|_| link.call(count_one("k"), late()))).await;
    let refused =
        results.iter().filter(|result| **result == Err(CallFailure::NotRun(RedisError::Overloaded))).count();
    assert_eq!(refused, 16);
    assert_eq!(server.count("k").await, 4);
}

/// Each failed login is a failed connection, so the breaker keeps them few.
#[tokio::test]
async fn a_wrong_password_is_reported_and_causes_no_storm() {
    let server = FakeServer::start(&[]).await;
    let _: String = server.ask(&["ACL", "SETUSER", "user", "on", ">right", "~*", "+@all"]).await;
    let link = RedisLink::new(
        &RedisConfig::parse(&format!("redis://user:wrong@127.0.0.1:{}", server.port)).unwrap(),
    );
    let failure = link.call(count_one("k"), soon()).await.unwrap_err();
    let CallFailure::NotRun(RedisError::Unreachable(why)) = failure else { panic!("{failure:?}") };
    assert!(why.contains("WRONGPASS") || why.contains("uthentication"), "{why}");
    for _ in 0..100 {
        assert_eq!(link.call(count_one("k"), soon()).await, Err(CallFailure::NotRun(RedisError::Open)));
    }
}

#[tokio::test]
async fn a_primary_that_was_demoted_refuses_and_comes_back() {
    let server = FakeServer::start(&[]).await;
    let link = link_to(&server);
    link.call(count_one("k"), late()).await.unwrap();
    let _: String = server.ask(&["REPLICAOF", "127.0.0.1", &free_port().to_string()]).await;
    let failure = link.call(count_one("k"), late()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Refused { code, .. }) if code == "READONLY"),
        "{failure:?}"
    );
    let _: String = server.ask(&["REPLICAOF", "NO", "ONE"]).await;
    assert_eq!(number(&link.call(count_one("k"), late()).await.unwrap()), 2);
}
