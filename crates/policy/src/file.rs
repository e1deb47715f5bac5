//! Types of the policy file. Their doc comments are also the reference of the file.

mod condition;
mod limit;
mod listening;
mod observe;
mod paths;
mod rule;
mod server;
mod span;
mod store;
mod units;

use schemars::JsonSchema;

use super::schema::{self, Only};

pub use condition::{Condition, Conditions, Test};
pub use limit::LimitEntry;
pub use listening::{Admin, Connections, ListenerSettings, Tls};
pub use observe::{Observe, Otlp, Subjects};
pub use paths::Paths;
pub use rule::{Missing, Mode, Override, Rule};
pub use server::{HeaderStyle, MIN_SECRET_CHARS, ResetStyle, Server};
pub use span::{Span, Spanned};
pub use store::{Sentinel, Store, StoreKind};
pub use units::{Bytes, DurationMs, Percent};

/// Policy file.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(title = "Slidegate policy", deny_unknown_fields, transform = Only("version"))]
pub struct File {
    /// Version of the format: 1.
    #[schemars(extend("const" = 1))]
    pub version: Spanned<u64>,
    /// Settings of the server.
    pub server: Server,
    /// Storage of the state.
    pub store: Store,
    /// Telemetry: metrics, top lists, the denial log.
    pub observe: Observe,
    /// Normalization of paths.
    pub paths: Paths,
    /// IPv6 prefix length: addresses with the same prefix are one client.
    #[schemars(schema_with = "schema::whole::<1, 128>", extend("default" = 64))]
    pub ipv6_prefix: Spanned<u8>,
    /// Rules, in the order of reports.
    pub rules: Vec<Rule>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            version: Spanned::of(1),
            server: Server::default(),
            store: Store::default(),
            observe: Observe::default(),
            paths: Paths::default(),
            ipv6_prefix: Spanned::of(64),
            rules: Vec::new(),
        }
    }
}
