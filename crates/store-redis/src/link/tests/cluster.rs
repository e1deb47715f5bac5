//! A Cluster of three primaries whose slots move and whose nodes fail.

use super::server::free_port;
use super::*;

const KEY: &str = "k";

struct Nodes(Vec<FakeServer>);

impl Nodes {
    async fn start() -> Self {
        let mut nodes = Vec::new();
        for _ in 0..3 {
            nodes.push(start_node().await);
        }
        let nodes = Self(nodes);
        for (index, node) in (0_u16..).zip(&nodes.0) {
            let slots: Vec<String> =
                (index * 5462..(index * 5462 + 5462).min(16_384)).map(|slot| slot.to_string()).collect();
            let words: Vec<&str> =
                ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str)).collect();
            let _: String = node.ask(&words).await;
            let _: String = node.ask(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]).await;
            let _: String = nodes.0[0].ask(&["CLUSTER", "MEET", "127.0.0.1", &node.port.to_string()]).await;
        }
        for node in &nodes.0 {
            until("the nodes know each other", async || {
                let info: String = node.ask(&["CLUSTER", "INFO"]).await;
                info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384")
            })
            .await;
        }
        nodes
    }

    fn link(&self) -> RedisLink {
        let urls: Vec<String> = self.0.iter().map(FakeServer::url).collect();
        RedisLink::new(&RedisConfig::cluster(urls.iter().map(String::as_str)).unwrap())
    }

    /// The node that has the slot of a key, and one that has not.
    fn owner_and_other(&self, key: &str) -> (&FakeServer, &FakeServer) {
        let owner = usize::from(slot_of(key.as_bytes()) / 5462);
        (&self.0[owner], &self.0[(owner + 1) % 3])
    }
}

async fn start_node() -> FakeServer {
    let options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
    let more = ["--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0"];
    FakeServer::start(&[&options[..], &more[..]].concat()).await
}

async fn id_of(node: &FakeServer) -> String {
    node.ask(&["CLUSTER", "MYID"]).await
}

async fn set_slot(node: &FakeServer, words: &[&str]) {
    let slot = slot_of(KEY.as_bytes()).to_string();
    let _: String = node.ask(&[&["CLUSTER", "SETSLOT", &slot][..], words].concat()).await;
}

#[tokio::test]
async fn calls_find_their_nodes() {
    let nodes = Nodes::start().await;
    let link = nodes.link();
    assert_eq!(link.slots(), SlotRouting::Apart);
    let keys: Vec<String> = (0..200).map(|key| format!("key{key}")).collect();
    for expected in 1..=3 {
        for result in join_all(keys.iter().map(|key| link.call(count_one(key), late()))).await {
            assert_eq!(number(&result.unwrap()), expected);
        }
    }
    assert_eq!(link.health().len(), 3);
}

#[tokio::test]
async fn a_slot_that_moves_is_followed_at_every_stage() {
    let nodes = Nodes::start().await;
    let link = nodes.link();
    let (owner, other) = nodes.owner_and_other(KEY);
    link.call(count_one(KEY), late()).await.unwrap();
    let _: i64 = owner.ask(&["DEL", KEY]).await;

    // The key is not there any more and may be at the other: ASK, and there NOSCRIPT.
    set_slot(other, &["IMPORTING", &id_of(owner).await]).await;
    set_slot(owner, &["MIGRATING", &id_of(other).await]).await;
    let replies = join_all((0..50).map(|_| link.call(count_one(KEY), late()))).await;
    let mut counts: Vec<u64> = replies.into_iter().map(|reply| number(&reply.unwrap())).collect();
    counts.sort_unstable();
    assert!(counts.into_iter().eq(1..=50));

    // The slot has gone: MOVED, once.
    set_slot(other, &["NODE", &id_of(other).await]).await;
    set_slot(owner, &["NODE", &id_of(other).await]).await;
    assert_eq!(number(&link.call(count_one(KEY), late()).await.unwrap()), 51);
    let before = evalsha_calls(owner).await;
    for expected in 52..=60 {
        assert_eq!(number(&link.call(count_one(KEY), late()).await.unwrap()), expected);
    }
    assert_eq!(evalsha_calls(owner).await, before);
}

#[tokio::test]
async fn a_refusal_is_that_of_the_node_that_answered() {
    let nodes = Nodes::start().await;
    let link = nodes.link();
    let (owner, other) = nodes.owner_and_other(KEY);
    link.call(count_one(KEY), late()).await.unwrap();
    let _: i64 = owner.ask(&["DEL", KEY]).await;
    set_slot(other, &["IMPORTING", &id_of(owner).await]).await;
    set_slot(owner, &["MIGRATING", &id_of(other).await]).await;
    let _: String = other.ask(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let failure = link.call(count_one(KEY), late()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Refused { code, .. }) if code == "OOM"),
        "{failure:?}"
    );
    let refusing: Vec<String> = link.refusals().into_iter().map(|(name, _)| name).collect();
    assert!(refusing.len() == 1 && refusing[0].contains(&other.port.to_string()), "{refusing:?}");
}

#[tokio::test]
async fn a_node_that_hangs_takes_nobody_with_it() {
    let nodes = Nodes::start().await;
    let link = nodes.link();
    let (owner, _) = nodes.owner_and_other(KEY);
    let elsewhere =
        (0..).map(|key| key.to_string()).find(|key| nodes.owner_and_other(key).0.port != owner.port).unwrap();
    let mut counts = CallCounts::default();
    counts.add(&link.call(count_one(KEY), late()).await);
    owner.signal("STOP");
    let open = |link: &RedisLink| link.health().iter().any(|(_, health)| *health == CircuitState::Open);
    until("the breaker opens", async || {
        counts.add(&link.call(count_one(KEY), Instant::now() + Duration::from_millis(20)).await);
        open(&link)
    })
    .await;
    for _ in 0..20 {
        link.call(count_one(&elsewhere), soon()).await.unwrap();
    }
    owner.signal("CONT");
    until("it is back", async || {
        let result = link.call(count_one(KEY), soon()).await;
        counts.add(&result);
        result.is_ok()
    })
    .await;
    let counted: u64 = owner.count(KEY).await;
    counts.assert_fits(counted);
}

#[tokio::test]
async fn a_cluster_that_is_not_there_fails_and_is_found() {
    let (port, late_port) = (free_port(), free_port());
    let urls = [port, late_port].map(|port| format!("redis://127.0.0.1:{port}"));
    let link = RedisLink::new(&RedisConfig::cluster(urls.iter().map(String::as_str)).unwrap());
    let failure = link.call(count_one(KEY), soon()).await.unwrap_err();
    assert!(matches!(failure, CallFailure::NotRun(RedisError::Unreachable(_))), "{failure:?}");
    let node = FakeServer::start_at(late_port, &["--cluster-enabled", "yes"]).await;
    let slots: Vec<String> = (0..16_384).map(|slot: u16| slot.to_string()).collect();
    let words: Vec<&str> =
        ["CLUSTER", "ADDSLOTS"].into_iter().chain(slots.iter().map(String::as_str)).collect();
    let _: String = node.ask(&words).await;
    until("it is found", async || link.call(count_one(KEY), soon()).await.is_ok()).await;
    assert_eq!(node.count(KEY).await, 1);
}

#[tokio::test]
async fn a_cluster_that_is_configured_as_one_server_is_warned_of() {
    let nodes = Nodes::start().await;
    let (_, other) = nodes.owner_and_other(KEY);
    let link = link_to(other);
    let failure = link.call(count_one(KEY), late()).await.unwrap_err();
    assert!(
        matches!(&failure, CallFailure::NotRun(RedisError::Refused { code, .. }) if code == "MOVED"),
        "{failure:?}"
    );
    until("it is found", async || {
        link.warnings().iter().any(|warning| warning.to_string().contains("configure it as one"))
    })
    .await;
}

#[tokio::test]
async fn a_replica_that_takes_over_is_found() {
    let mut nodes = Nodes::start().await;
    let replica = start_node().await;
    let (owner, other) = nodes.owner_and_other(KEY);
    let id = id_of(owner).await;
    let _: String = replica.ask(&["CLUSTER", "MEET", "127.0.0.1", &other.port.to_string()]).await;
    until("it knows its primary", async || replica.accepts(&["CLUSTER", "REPLICATE", &id]).await).await;
    let link = nodes.link();
    link.call(count_one(KEY), late()).await.unwrap();
    until("the count is there too", async || {
        let info: String = replica.ask(&["INFO", "replication"]).await;
        let keys: u64 = replica.ask(&["DBSIZE"]).await;
        info.contains("master_link_status:up") && keys == 1
    })
    .await;
    let all_know = async || {
        let mut is_replica = true;
        for node in &nodes.0 {
            is_replica &= node.ask::<String>(&["CLUSTER", "NODES"]).await.contains(&format!("slave {id}"));
        }
        is_replica
    };
    until("all know of it", all_know).await;
    let owner = nodes.0.iter().position(|node| node.port == owner.port).unwrap();
    drop(nodes.0.remove(owner));
    let mut counts = CallCounts { done: 1, ..CallCounts::default() };
    until("calls reach the replica", async || {
        let result = link.call(count_one(KEY), soon()).await;
        counts.add(&result);
        result.is_ok()
    })
    .await;
    counts.assert_fits(replica.count(KEY).await);
}
