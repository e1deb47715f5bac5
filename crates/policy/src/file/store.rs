//! Where state is kept.

use std::fmt;

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Bytes, DurationMs, Span, Spanned};

/// Where state is kept.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Store {
    /// Where it stands.
    #[schemars(skip)]
    pub at: Span,
    /// In this process, or in Redis or Valkey.
    #[schemars(extend("default" = "memory"))]
    pub kind: StoreKind,
    /// The most memory that state takes in this process.
    #[schemars(extend("default" = "256MiB"))]
    pub max_memory: Bytes,
    /// A file that memory is saved to and restored from, so that a restart forgets nothing. What was admitted after
    /// the last save is lost if the process is killed.
    #[schemars(with = "String", length(min = 1), extend("examples" = ["/var/lib/slidegate/state.snapshot"]))]
    pub snapshot: Option<Spanned<String>>,
    /// How often that is saved, beside the end of the process.
    #[schemars(extend("default" = "1min"))]
    pub snapshot_interval: Spanned<DurationMs>,
    /// The server. With `kind: redis` exactly one of `url`, `nodes` and `sentinel` is given.
    #[schemars(with = "String", length(min = 1), extend("examples" = ["redis://127.0.0.1:6379"]))]
    pub url: Option<Spanned<String>>,
    /// Some nodes of a Cluster; they know the others.
    #[schemars(inner(length(min = 1)))]
    pub nodes: Vec<Spanned<String>>,
    /// The sentinels that know the server.
    #[schemars(with = "Sentinel")]
    pub sentinel: Option<Sentinel>,
    /// How long a decision may take before `on_store_error` answers.
    #[schemars(extend("default" = "50ms"))]
    pub timeout: DurationMs,
    /// What the names of all keys start with. Left out: `sg:`.
    #[schemars(with = "String", length(min = 1), extend("default" = "sg:"))]
    pub prefix: Option<Spanned<String>>,
    /// The longest that a node refuses by itself what the store has refused. 0 turns that off.
    #[schemars(extend("default" = "500ms"))]
    pub deny_cache: DurationMs,
    /// How many nodes share the store. While it does not answer, each has this part of every quota.
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

/// Without URLs, which may hold a password.
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

/// Which store.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum StoreKind {
    /// In the memory of this process.
    #[default]
    Memory,
    /// In Redis or Valkey, shared by all nodes.
    Redis,
}

/// Sentinels, and what they call the server.
#[derive(Clone, PartialEq, Eq, Default, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("nodes name"))]
pub struct Sentinel {
    /// Where the sentinels are.
    #[schemars(inner(length(min = 1)))]
    pub nodes: Vec<Spanned<String>>,
    /// The name that they know the primary by.
    #[schemars(length(min = 1))]
    pub name: Spanned<String>,
}

/// Without URLs, which may hold a password.
impl fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sentinel").field("name", &self.name).finish_non_exhaustive()
    }
}
