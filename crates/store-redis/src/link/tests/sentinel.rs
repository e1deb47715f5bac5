//! A primary, a replica, and a sentinel that exchanges them.

use super::server::free_port;
use super::*;

#[tokio::test]
async fn the_new_primary_is_found_after_a_failover() {
    let primary = FakeServer::start(&[]).await;
    let replica = FakeServer::start(&["--replicaof", "127.0.0.1", &primary.port.to_string()]).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("sentinel.conf");
    let port = free_port();
    let settings = format!(
        "sentinel monitor mine 127.0.0.1 {} 1\nsentinel down-after-milliseconds mine 1000\n",
        primary.port
    );
    std::fs::write(&file, settings).unwrap();
    let sentinel = FakeServer::start_at(port, &[file.to_str().unwrap(), "--sentinel"]).await;
    let unused = format!("redis://127.0.0.1:{}", free_port());
    let link = RedisLink::new(&RedisConfig::sentinel([unused.as_str(), &sentinel.url()], "mine").unwrap());
    link.call(count_one("k"), late()).await.unwrap();

    until("the sentinel knows the replica", async || {
        let replicas: Vec<redis::Value> = sentinel.ask(&["SENTINEL", "replicas", "mine"]).await;
        let link_up = replica.ask::<String>(&["INFO", "replication"]).await.contains("master_link_status:up");
        !replicas.is_empty() && link_up
    })
    .await;
    // It may give up and have to be told again.
    until("the sentinel names the replica", async || {
        let named: (String, u16) = sentinel.ask(&["SENTINEL", "get-master-addr-by-name", "mine"]).await;
        if named.1 != replica.port {
            sentinel.accepts(&["SENTINEL", "FAILOVER", "mine"]).await;
        }
        named.1 == replica.port
    })
    .await;
    // The old primary still answers until the sentinel has told it.
    until("calls reach what was the replica", async || {
        let _: Result<_, CallFailure> = link.call(count_one("after"), soon()).await;
        replica.count("after").await > 0
    })
    .await;

    let unknown = RedisLink::new(&RedisConfig::sentinel([sentinel.url().as_str()], "other").unwrap());
    let failure = unknown.call(count_one("k"), soon()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Unreachable(why)) if why.contains("no primary"))
    );
}
