//! The policy file as types. What these say of themselves is also the reference of the file.

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

/// A policy file.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(title = "Slidegate policy", deny_unknown_fields, transform = Only("version"))]
pub struct File {
    /// The version of this format: 1.
    #[schemars(extend("const" = 1))]
    pub version: Spanned<u64>,
    /// How the service listens and answers.
    pub server: Server,
    /// Where state is kept.
    pub store: Store,
    /// What is counted and told of decisions.
    pub observe: Observe,
    /// How paths are read.
    pub paths: Paths,
    /// IPv6 addresses that share this many bits are one client.
    #[schemars(schema_with = "schema::whole::<1, 128>", extend("default" = 64))]
    pub ipv6_prefix: Spanned<u8>,
    /// The rules, in the order in which they are reported.
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
