//! Configuration: a policy file, checked, in the form that the server needs.

pub(crate) mod connection_limits;
pub(crate) mod error;
pub(crate) mod exposure;
pub(crate) mod listener;
mod observe_settings;
pub(crate) mod otlp_error;
pub(crate) mod pem;
pub mod schema;
mod server_settings;
pub(crate) mod snapshot_error;
mod store_settings;
pub(crate) mod tls_error;
mod tls_settings;
mod token;

use slidegate::policy::format::Fields;
use slidegate::policy::{Policy, PolicyErrors};

pub use connection_limits::ConnectionLimits;
pub use listener::{AdminSettings, ListenerSettings};
pub use observe_settings::{ObserveSettings, OtlpSettings};
pub use server_settings::{HeaderStyle, ResetStyle, ServerSettings};
pub use slidegate::policy::format::Secret;
pub use store_settings::{SentinelSettings, StoreKind, StoreSettings};
pub use tls_settings::TlsSettings;
pub use token::{ShortToken, Token};

/// Policy and the settings beside it.
#[derive(Debug)]
pub struct Config {
    /// The rules.
    pub policy: Policy,
    /// Listeners, the store and telemetry.
    pub settings: Settings,
}

/// Settings of a policy file apart from its rules, complete and checked.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Settings {
    /// Listeners and responses.
    pub server: ServerSettings,
    /// Storage of the state.
    pub store: StoreSettings,
    /// Telemetry.
    pub observe: ObserveSettings,
}

impl Config {
    /// Reads and compiles a policy file. Reports all errors.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, PolicyErrors> {
        let (policy, mut settings) = Policy::parse_with(file_name, text, Settings::read)?;
        settings.server.connections.ipv6_prefix = policy.ipv6_prefix();
        Ok(Self { policy, settings })
    }
}

impl Settings {
    /// Reads the sections of the server.
    fn read(fields: &Fields<'_>) -> Self {
        Self {
            server: fields.get::<ServerSettings>("server").unwrap_or_default(),
            store: fields.get::<StoreSettings>("store").unwrap_or_default(),
            observe: fields.get::<ObserveSettings>("observe").unwrap_or_default(),
        }
    }
}
