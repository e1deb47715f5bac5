//! Settings of the store.

use std::time::Duration;

use slidegate::policy::file::Span;
use slidegate::policy::format::schema::{Value, whole};
use slidegate::policy::format::{Checked, Fields, InvalidValue, Schemas, Secret, Size, ValueCheck, peek};
use slidegate::policy::yaml::{Kind, Node};

slidegate::policy::section! {
    /// Storage of the state.
    pub struct StoreSettings: "a store" as "Store" {
        /// Kind of store.
        kind: StoreKind = "memory";
        /// Maximum memory of the state in this process.
        max_memory: Size = "256MiB";
        /// File that the state is saved to and restored from, so that it survives a restart. If the
        /// process is killed, changes since the last save are lost.
        snapshot: Option<String>, { "examples": ["/var/lib/slidegate/state.snapshot"] };
        /// Interval of snapshots. A snapshot is also saved at the end of the process.
        snapshot_interval: Checked<SnapshotInterval> = "1min";
        /// URL of the Redis server. `kind: redis` requires exactly one of `url`, `nodes` and
        /// `sentinel`.
        url: Option<Secret>, { "examples": ["redis://127.0.0.1:6379"] };
        /// URLs of some nodes of a Redis Cluster. The others are discovered.
        nodes: Vec<Secret>;
        /// Redis Sentinel.
        sentinel: Option<SentinelSettings>;
        /// Timeout of a decision, after which `on_store_error` applies.
        timeout: Checked<DecisionTimeout> = "50ms";
        /// Prefix of all keys in Redis.
        prefix: Option<String>, { "default": "sg:" };
        /// Maximum time that a node repeats a denial without asking the store again. 0 disables the
        /// cache.
        deny_cache: Duration = "500ms";
        /// Number of nodes that share the store. While the store is unavailable, each node has its
        /// share of every quota.
        instances: Checked<Instances> = 1;
    }
    then check;
}

slidegate::policy::section! {
    /// Redis Sentinel: its nodes and the name of the primary.
    pub struct SentinelSettings: "a sentinel" as "Sentinel" {
        /// URLs of the sentinels.
        nodes: Vec<Secret> => "[redis://10.0.0.1:26379]";
        /// Name of the primary.
        name: String => "mymaster";
    }
}

slidegate::policy::keywords! {
    /// Kind of store.
    pub enum StoreKind {
        Memory = "memory": "Memory of this process.",
        Redis = "redis": "Redis or Valkey, shared by all nodes.",
    }
}

/// Interval of snapshots.
struct SnapshotInterval;

impl ValueCheck for SnapshotInterval {
    type Base = Duration;
    type Value = Duration;

    /// Below 100 ms a large store would be saved all the time.
    fn check(interval: Duration) -> Result<Duration, InvalidValue> {
        if interval >= Duration::from_millis(100) {
            return Ok(interval);
        }
        let message = format!("snapshot interval of {} ms is too short", interval.as_millis());
        Err(InvalidValue::new(message, "write at least 100ms; 1min is common"))
    }
}

/// Timeout of a decision.
struct DecisionTimeout;

impl ValueCheck for DecisionTimeout {
    type Base = Duration;
    type Value = Duration;

    fn check(timeout: Duration) -> Result<Duration, InvalidValue> {
        let zero = || InvalidValue::new("the timeout must not be 0", "write at least 1ms; 50ms is common");
        if timeout.is_zero() { Err(zero()) } else { Ok(timeout) }
    }
}

/// Number of nodes.
struct Instances;

impl ValueCheck for Instances {
    type Base = u32;
    type Value = u32;

    fn check(number: u32) -> Result<u32, InvalidValue> {
        let help = "write the number of nodes that share the store";
        if number == 0 { Err(InvalidValue::new("`instances` must be at least 1", help)) } else { Ok(number) }
    }

    fn schema(_: &mut Schemas) -> Value {
        whole(1, u64::from(u32::MAX))
    }
}

/// Checks the fields together. Values that were reported count as well, so that an error is not
/// followed by another.
fn check(store: &mut StoreSettings, fields: &Fields<'_>) {
    let value = |name| fields.find(name).map(|entry| &entry.value).filter(|value| !value.is_null());
    let sentinel = value("sentinel");
    let sentinel_at = sentinel.map(|sentinel| match sentinel.get("name") {
        Some(name) => name.value.at,
        None => sentinel.head(),
    });
    let url = value("url").map(|url| ("url", url.at));
    let nodes = value("nodes").and_then(|nodes| match &nodes.kind {
        Kind::Sequence(items) => items.first().map(|first| ("nodes", first.at)),
        _ => Some(("nodes", nodes.at)),
    });
    let name = sentinel_at.map(|at| ("sentinel", at));
    let addresses: Vec<(&str, Span)> = [url, nodes, name].into_iter().flatten().collect();
    // An invalid `kind` is most likely a misspelt `redis`, if there are settings of Redis.
    if !addresses.is_empty() && value("kind").is_some_and(|kind| peek::<StoreKind>(kind).is_none()) {
        store.kind = StoreKind::Redis;
    }
    match (store.kind, &*addresses) {
        (StoreKind::Redis, []) => {
            let help = "add its address, as in `url: redis://127.0.0.1:6379`, or `nodes` or `sentinel`";
            fields.report(fields.head(), "missing address of Redis", help);
        }
        (StoreKind::Memory, [(field, at), ..]) => {
            let help = format!("write `kind: redis`, or remove `{field}`");
            fields.report(*at, format!("`{field}` requires `kind: redis`"), help);
        }
        (StoreKind::Redis, [(first, _), (second, at), ..]) => {
            let help = "keep one: `url` for a single server, `nodes` for Cluster, `sentinel` for Sentinel";
            fields.report(*at, format!("`{first}` and `{second}` cannot be combined"), help);
        }
        _ => {}
    }
    if let (Some(path), StoreKind::Redis) = (value("snapshot"), store.kind) {
        let help = "remove `snapshot`: Redis persists state itself";
        fields.report(path.at, "`snapshot` requires `kind: memory`", help);
    }
    let is_empty = |nodes: &Node| matches!(&nodes.kind, Kind::Sequence(items) if items.is_empty());
    let sentinels = sentinel.and_then(|sentinel| sentinel.get("nodes"));
    if let (Some(at), true) = (sentinel_at, sentinels.is_some_and(|nodes| is_empty(&nodes.value))) {
        let help = "add at least one, as in `nodes: [\"127.0.0.1:26379\"]`";
        fields.report(at, "empty list of sentinels", help);
    }
}
