//! Servers that lose their newest writes: by a failover to a replica that lacks them, or by a
//! restart from an older file. Permits that are lost with their charges are void, those that
//! survived are settled, and no permit settles another's charge.

use std::time::Duration;

use slidegate::SettleOutcome::{AlreadySpent, Settled, Void};
use slidegate::store::redis::RedisConfig;
use slidegate::store::{Charge, ChargeRecord, ChargeRequest, Settlement};
use slidegate::{
    Admission, AsyncLimiter, IdempotentOutcome, Key, Limit, Limiter, Permit, Redis, RefundScope,
    ReserveRequest, Space, Store,
};
use slidegate_core::Receipt;
use slidegate_testkit::servers::{Cluster, Flavour, RedisServer, RespReply, wait_for};

use super::redis;
use crate::redis::stores::{eventually, keys, used};

/// Generations of one subject.
const GENERATIONS: usize = 64;

/// The kinds whose charges can be given back without the holder's id.
fn kinds() -> [Limit; 3] {
    let log = Limit::per_hour(1_000_000);
    [log, log.counter().expect("a counter"), log.fixed().expect("a fixed window")]
}

fn limiter(store: Redis, limit: Limit) -> AsyncLimiter<Redis> {
    let builder = Limiter::builder([limit]).name(limit.to_string()).refundable();
    builder.permit_secret([7; 32]).store(store).build_async().expect("a limiter")
}

async fn reserve(limiter: &AsyncLimiter<Redis>, cost: u64) -> Permit {
    limiter.reserve("key", cost).await.expect("an answer").permit.expect("admitted")
}

/// Servers of which the second has all that the first has.
fn primary_and_replica(flavour: Flavour) -> [RedisServer; 2] {
    let servers = [(); 2].map(|()| RedisServer::start_with(flavour, &["--repl-diskless-sync-delay", "0"]));
    follow(&servers[1], &servers[0]);
    servers
}

fn follow(replica: &RedisServer, primary: &RedisServer) {
    replica.must(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
    catch_up(replica, primary);
}

fn catch_up(replica: &RedisServer, primary: &RedisServer) {
    wait_for("a replica that has everything", || {
        let up = replica.info("master_link_status").as_deref() == Some("up");
        let offsets = [primary, replica].map(|server| server.info("master_repl_offset"));
        if up && offsets[0] == offsets[1] { Ok(()) } else { Err(format!("{up}, {offsets:?}")) }
    });
}

/// Another history of the same data, as after a failover that loses nothing.
fn change_history(server: &RedisServer) {
    server.must(&["REPLICAOF", "127.0.0.1", "1"]);
    server.must(&["REPLICAOF", "NO", "ONE"]);
}

/// Ends replication to a replica that has everything so far.
fn cut_off(replica: &RedisServer, primary: &RedisServer) {
    catch_up(replica, primary);
    replica.must(&["REPLICAOF", "NO", "ONE"]);
}

/// Permits before a loss: an open one of 10 units and a spent one of 6, which survive.
struct Survivors([Permit; 2]);

/// Permits after a loss.
struct Loss {
    survivors: Survivors,
    lost: Vec<Permit>,
}

impl Survivors {
    async fn reserve(limiter: &AsyncLimiter<Redis>) -> Self {
        let permits = [reserve(limiter, 10).await, reserve(limiter, 5).await];
        assert_eq!(limiter.settle(&permits[1], 6).await.expect("an answer"), Settled);
        Self(permits)
    }

    /// To be called when the data is set aside to which the server returns.
    async fn reserve_more(self, limiter: &AsyncLimiter<Redis>) -> Loss {
        let mut lost = Vec::new();
        for _ in 0..5 {
            lost.push(reserve(limiter, 7).await);
        }
        Loss { survivors: self, lost }
    }
}

impl Loss {
    /// To be called with a server that has lost them.
    async fn prove(&self, limiter: &AsyncLimiter<Redis>, what: &str) {
        assert_eq!(used(limiter, "key").await, 16, "{what}: the last charges are lost");
        let mut fresh = Vec::new();
        for _ in 0..5 {
            fresh.push(reserve(limiter, 20).await);
        }
        for permit in &self.lost {
            assert_eq!(limiter.settle(permit, 3).await.expect("an answer"), Void, "{what}");
            assert_eq!(limiter.refund(permit).await.expect("an answer"), Void, "{what}");
        }
        assert_eq!(used(limiter, "key").await, 116, "{what}: nothing has changed");
        for outcome in [Settled, AlreadySpent] {
            for permit in &fresh {
                assert_eq!(limiter.settle(permit, 1).await.expect("an answer"), outcome, "{what}");
            }
            let survivor = limiter.refund(&self.survivors.0[0]).await.expect("an answer");
            assert_eq!(survivor, outcome, "{what}");
            let spent = limiter.refund(&self.survivors.0[1]).await.expect("an answer");
            assert_eq!(spent, AlreadySpent, "{what}");
            assert_eq!(used(limiter, "key").await, 11, "{what}");
        }
    }
}

#[tokio::test]
async fn a_failover_voids_what_it_loses() {
    for flavour in Flavour::all() {
        let [primary, replica] = primary_and_replica(flavour);
        let stores = [redis(&primary), redis(&replica)];
        let pairs = kinds().map(|limit| stores.clone().map(|store| limiter(store, limit)));
        let mut survivors = Vec::new();
        for [before, _] in &pairs {
            survivors.push(Survivors::reserve(before).await);
        }
        cut_off(&replica, &primary);
        for ([before, after], survivors) in pairs.iter().zip(survivors) {
            let loss = survivors.reserve_more(before).await;
            loss.prove(after, &format!("{flavour:?}, {}", after.limits()[0])).await;
        }
    }
}

#[tokio::test]
async fn a_restart_from_an_older_file_voids_what_it_loses() {
    for flavour in Flavour::all() {
        let mut server = RedisServer::start(flavour);
        let limiter = limiter(redis(&server), kinds()[1]);
        let survivors = Survivors::reserve(&limiter).await;
        server.must(&["SAVE"]);
        let loss = survivors.reserve_more(&limiter).await;
        server.restart();
        eventually("an answer", async || limiter.peek("key").await.is_ok()).await;
        loss.prove(&limiter, &format!("{flavour:?}")).await;
    }
}

/// A server may lose writes as a replica and be a primary again while connections stay open.
#[tokio::test]
async fn a_primary_that_was_a_replica_meanwhile_voids_what_it_lost() {
    for flavour in Flavour::all() {
        let [server, other] = primary_and_replica(flavour);
        let limiter = limiter(redis(&server), kinds()[1]);
        let survivors = Survivors::reserve(&limiter).await;
        cut_off(&other, &server);
        let loss = survivors.reserve_more(&limiter).await;
        follow(&server, &other);
        server.must(&["REPLICAOF", "NO", "ONE"]);
        loss.prove(&limiter, &format!("{flavour:?}")).await;
    }
}

/// The node that takes over in a Cluster lacks what its primary wrote last.
#[tokio::test]
async fn a_failover_in_a_cluster_voids_what_it_loses() {
    for flavour in [Flavour::Redis70, Flavour::Valkey9] {
        let mut cluster = Cluster::start(flavour);
        let urls = cluster.urls();
        let config = RedisConfig::cluster(urls.iter().map(String::as_str)).expect("URLs");
        let store = Redis::new(&config.timeout(Duration::from_secs(20)));
        let limiter = limiter(store, kinds()[1]);
        let survivors = Survivors::reserve(&limiter).await;
        let primary = (0..3).find(|node| !keys(cluster.node(*node)).is_empty()).expect("a primary");
        let replica = primary + 3;
        catch_up(cluster.node(replica), cluster.node(primary));
        // It cannot connect again, and finds its primary dead when it goes on.
        cluster.node(replica).stop();
        cluster.node(primary).command(&["CLIENT", "KILL", "TYPE", "replica"]);
        let loss = survivors.reserve_more(&limiter).await;
        cluster.kill_primary(primary);
        cluster.node(replica).resume();
        cluster.wait_until_ok();
        eventually("an answer", async || limiter.peek("key").await.is_ok()).await;
        loss.prove(&limiter, &format!("{flavour:?}")).await;
    }
}

/// Idempotent checks number permits in the same way, and a repeat gets the permit of the first.
#[tokio::test]
async fn idempotent_checks_reuse_no_permit_either() {
    for flavour in Flavour::all() {
        let mut server = RedisServer::start(flavour);
        let store = redis(&server);
        let (key, limits) = (Key::from("key"), [kinds()[1]]);
        let once = async |holder: u64, idempotency_key: &str| {
            let charges = [Charge { space: Space::named(""), key: &key, limits: &limits, cost: 4 }];
            let call = ChargeRequest { now_ms: 0, holder, charges: &charges };
            let request = ReserveRequest { charge: call, refunds: &[RefundScope::Everything] };
            store.decide_idempotent(&request, idempotency_key.as_bytes()).await
        };
        let refund = async |id: u64, admission: &Admission| {
            let receipt = Receipt { stamp_ms: admission.verdict.decisions[0].stamp_ms, cost: 4, holder: id };
            let (grant, receipts) =
                (admission.grants.of(0).expect("a permit"), vec![(limits[0].id(), receipt)]);
            let subject = ChargeRecord { space: Space::named(""), key: key.clone(), grant, receipts };
            let settlement = Settlement { now_ms: 0, id, cost: 0, slots: 0, subjects: vec![subject] };
            store.settle(&settlement).await.expect("an answer")[0]
        };
        let decided = |once: Result<IdempotentOutcome, _>| match once.expect("an answer") {
            IdempotentOutcome::Decided(admission) => admission,
            other => panic!("{flavour:?}: {other:?}"),
        };
        let survivor = decided(once(1, "survivor").await);
        server.must(&["SAVE"]);
        let lost = decided(once(2, "lost").await);
        server.restart();
        eventually("an answer", async || {
            matches!(once(3, "survivor").await, Ok(IdempotentOutcome::Replayed { admission, holder: 1 }) if admission == survivor)
        })
        .await;
        let again = decided(once(4, "lost").await);
        assert_ne!(again.grants.of(0), lost.grants.of(0), "{flavour:?}");
        assert_eq!(refund(2, &lost).await, Void, "{flavour:?}");
        for outcome in [Settled, AlreadySpent] {
            assert_eq!(refund(4, &again).await, outcome, "{flavour:?}");
            assert_eq!(refund(1, &survivor).await, outcome, "{flavour:?}");
        }
    }
}

/// Permits of the last 64 histories of a key stand side by side; those of earlier ones are void.
#[tokio::test]
async fn histories_that_lose_nothing_void_nothing() {
    const CHANGES: usize = GENERATIONS + 6;
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = limiter(redis(&server), kinds()[1]);
        let mut permits = Vec::new();
        for change in 0..CHANGES {
            if change > 0 {
                change_history(&server);
            }
            permits.push([reserve(&limiter, 1).await, reserve(&limiter, 1).await]);
        }
        assert_eq!(used(&limiter, "key").await, 2 * CHANGES as u64);
        let (void, valid) = permits.split_at(CHANGES - GENERATIONS);
        for permit in void.iter().flatten() {
            assert_eq!(limiter.refund(permit).await.expect("an answer"), Void, "{flavour:?}");
        }
        for outcome in [Settled, AlreadySpent] {
            for permit in valid.iter().flatten() {
                assert_eq!(limiter.refund(permit).await.expect("an answer"), outcome, "{flavour:?}");
            }
        }
        assert_eq!(used(&limiter, "key").await, 2 * (CHANGES - GENERATIONS) as u64);
    }
}

/// Open permits of a build that knew no histories take the first that they are used under.
#[tokio::test]
async fn permits_of_a_build_without_histories_stay_valid() {
    for flavour in Flavour::all() {
        let server = RedisServer::start(flavour);
        let limiter = limiter(redis(&server), kinds()[1]);
        let mut permits = vec![reserve(&limiter, 1).await];
        let permits_key =
            keys(&server).into_iter().find(|key| server.command(&["TYPE", key]).text() == "hash");
        let permits_key = permits_key.expect("open permits");
        let RespReply::Bulk(Some(head)) = server.command(&["HGET", &permits_key, "h"]) else {
            panic!("a head")
        };
        server.command(&[b"HSET", permits_key.as_bytes(), b"h", &head[..37]]);
        permits.push(reserve(&limiter, 1).await);
        let generations = server.command(&["HEXISTS", &permits_key, "e"]);
        assert_eq!(generations, RespReply::Int(0), "{flavour:?}: there is but one");
        change_history(&server);
        permits.push(reserve(&limiter, 1).await);
        for outcome in [Settled, AlreadySpent] {
            for permit in &permits {
                assert_eq!(limiter.refund(permit).await.expect("an answer"), outcome, "{flavour:?}");
            }
        }
    }
}
