//! Requests that touch several primaries of a cluster.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use slidegate::store::redis::{RedisConfig, RedisError};
use slidegate::store::{Charge, ChargeRequest};
use slidegate::{Key, Limit, Redis, Space, Store, Verdict};
use slidegate_testkit::servers::Cluster;

/// When everything happens, by the caller's clock: nothing leaves its window by itself.
pub(crate) const NOW_MS: u64 = 1_745_000_000_000;

/// Somebody, and the limits that hold for it.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) key: Key<'static>,
    pub(crate) slot: u16,
    pub(crate) limits: Vec<Limit>,
}

/// What is asked of a cluster, for patient callers who want every answer from the server.
pub(crate) fn config(cluster: &Cluster) -> RedisConfig {
    let urls = cluster.urls();
    let config = RedisConfig::cluster(urls.iter().map(String::as_str)).expect("URLs");
    config.deny_cache(Duration::ZERO).timeout(Duration::from_secs(20))
}

/// The slot of all that is known of a subject: keys have 16 hex digits of its hash in braces.
pub(crate) fn slot_of(cluster: &Cluster, name: &str) -> u16 {
    let digest = Sha256::new().chain_update([0]).chain_update(name).finalize();
    let tag: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    cluster.slot_of(&format!("{{{tag}}}"))
}

/// One subject for each of these sets of limits, spread evenly over the slots and in their order,
/// which is the order in which they are charged. Three lie with the three primaries that a cluster
/// begins with.
pub(crate) fn subjects(cluster: &Cluster, limits: &[Vec<Limit>]) -> Vec<Subject> {
    let share = 16_384 / limits.len().max(3) as u64;
    let within = |slot: u16, index: usize| u64::from(slot) / share == index as u64;
    let limits = limits.iter().cloned().enumerate();
    let found = limits.map(|(index, limits)| {
        let names = (0_u32..).map(|n| format!("subject {index}/{n}"));
        let mut named = names.map(|name| (slot_of(cluster, &name), name));
        let (slot, name) = named.find(|(slot, _)| within(*slot, index)).expect("there is no end of names");
        Subject { key: name.into(), slot, limits }
    });
    found.collect()
}

/// A request for these costs, all or none, under an id of its own.
pub(crate) async fn ask(
    store: &Redis,
    space: Space,
    costs: &[(&Subject, u64)],
) -> Result<Verdict, RedisError> {
    static HOLDERS: AtomicU64 = AtomicU64::new(1);
    let holder = HOLDERS.fetch_add(1, Ordering::Relaxed);
    let charges: Vec<Charge<'_>> = costs
        .iter()
        .map(|(subject, cost)| Charge { space, key: &subject.key, limits: &subject.limits, cost: *cost })
        .collect();
    store.decide(&ChargeRequest { now_ms: NOW_MS, holder, charges: &charges }).await
}

/// What remains of each limit of a subject.
pub(crate) async fn remaining(store: &Redis, space: Space, subject: &Subject) -> Vec<u64> {
    let verdict = ask(store, space, &[(subject, 0)]).await.expect("a look");
    verdict.decisions.iter().map(|decision| decision.remaining).collect()
}
