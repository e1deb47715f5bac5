//! Settings of the store.

use std::fmt;

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Bytes, DurationMs, Span, Spanned};

/// Storage of the state.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Store {
    /// Position.
    #[schemars(skip)]
    pub at: Span,
    /// Kind of store.
    #[schemars(extend("default" = "memory"))]
    pub kind: StoreKind,
    /// Maximum memory of the state in this process.
    #[schemars(extend("default" = "256MiB"))]
    pub max_memory: Bytes,
    /// File that the state is saved to and restored from, so that it survives a restart. If the process is killed, changes
    /// since the last save are lost.
    #[schemars(with = "String", length(min = 1), extend("examples" = ["/var/lib/slidegate/state.snapshot"]))]
    pub snapshot: Option<Spanned<String>>,
    /// Interval of snapshots. A snapshot is also saved at the end of the process.
    #[schemars(extend("default" = "1min"))]
    pub snapshot_interval: Spanned<DurationMs>,
    /// URL of the Redis server. `kind: redis` requires exactly one of `url`, `nodes` and `sentinel`.
    #[schemars(with = "String", length(min = 1), extend("examples" = ["redis://127.0.0.1:6379"]))]
    pub url: Option<Spanned<String>>,
    /// URLs of some nodes of a Redis Cluster. The others are discovered.
    #[schemars(inner(length(min = 1)))]
    pub nodes: Vec<Spanned<String>>,
    /// Redis Sentinel.
    #[schemars(with = "Sentinel")]
    pub sentinel: Option<Sentinel>,
    /// Timeout of a decision, after which `on_store_error` applies.
    #[schemars(extend("default" = "50ms"))]
    pub timeout: DurationMs,
    /// Prefix of all keys in Redis.
    #[schemars(with = "String", length(min = 1), extend("default" = "sg:"))]
    pub prefix: Option<Spanned<String>>,
    /// Maximum time that a node repeats a denial without asking the store again. 0 disables the cache.
    #[schemars(extend("default" = "500ms"))]
    pub deny_cache: DurationMs,
    /// Number of nodes that share the store. While the store is unavailable, each node has its share of every quota.
    #[schemars(schema_with = "schema::whole::<1, { u32::MAX as u64 }>", extend("default" = 1))]
    pub instances: u32,
}

impl Default for Store {
    fn default() -> Self {
        Self {
            at: Span::default(),
            kind: StoreKind::Memory,
            max_memory: Bytes(256 << 20),
            snapshot: None,
            snapshot_interval: Spanned::of(DurationMs(60_000)),
            url: None,
            nodes: Vec::new(),
            sentinel: None,
            timeout: DurationMs(50),
            prefix: None,
            deny_cache: DurationMs(500),
            instances: 1,
        }
    }
}

/// Omits URLs, which may contain a password.
impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("kind", &self.kind)
            .field("max_memory", &self.max_memory)
            .field("snapshot", &self.snapshot)
            .field("snapshot_interval", &self.snapshot_interval)
            .field("timeout", &self.timeout)
            .field("prefix", &self.prefix)
            .field("deny_cache", &self.deny_cache)
            .field("instances", &self.instances)
            .finish_non_exhaustive()
    }
}

/// Kind of store.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum StoreKind {
    /// Memory of this process.
    #[default]
    Memory,
    /// Redis or Valkey, shared by all nodes.
    Redis,
}

/// Redis Sentinel: its nodes and the name of the primary.
#[derive(Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("nodes name"))]
pub struct Sentinel {
    /// URLs of the sentinels.
    #[schemars(inner(length(min = 1)))]
    pub nodes: Vec<Spanned<String>>,
    /// Name of the primary.
    #[schemars(length(min = 1))]
    pub name: Spanned<String>,
}

/// Omits URLs, which may contain a password.
impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel").field("name", &self.name).finish_non_exhaustive()
    }
}
