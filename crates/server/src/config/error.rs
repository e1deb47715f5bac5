//! Errors in the settings.

use std::net::SocketAddr;

use slidegate::store::redis::RedisConfigError;

use super::snapshot_error::SnapshotStartError;
use super::tls_error::TlsError;

/// Error in the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The store's address is invalid.
    #[error("store: {0}")]
    Store(#[from] RedisConfigError),
    /// `kind: redis` has no address.
    #[error("store: kind redis needs one of url, nodes and sentinel, as in url: redis://127.0.0.1:6379")]
    NoServer,
    /// The file of `store.snapshot` cannot be used.
    #[error("store.snapshot: {0}")]
    Snapshot(#[from] SnapshotStartError),
    /// The client's address is not read from a header of its own.
    #[error("server.attributes: ip comes from the connection and trusted_proxies; choose another name")]
    AddressFromHeader,
    /// A listener's certificate cannot be used.
    #[error("{setting}: {error}")]
    Tls {
        /// The setting of the listener.
        setting: &'static str,
        /// The file, and what is wrong with it.
        error: TlsError,
    },
    /// Other machines could reach the admin listener without authentication.
    #[error(
        "server.admin: {address} can be reached by other machines, and anybody there could change limits: listen at \
         127.0.0.1, or give it a token (--admin-token), or tls with a client_ca"
    )]
    AdminIsOpen {
        /// Address of the listener.
        address: SocketAddr,
    },
    /// A listener without settings.
    #[error("server.admin: there is a listener at {address} and no setting for it")]
    AdminIsNotSet {
        /// Address of the listener.
        address: SocketAddr,
    },
    /// Telemetry cannot be exported with these settings.
    #[error("observe.otlp: {0}")]
    Otlp(#[from] super::otlp_error::OtlpError),
}
