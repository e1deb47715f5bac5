//! Settings of listeners: addresses, TLS, tokens, bounds of connections.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Bytes, DurationMs, Spanned};

/// Listener for operators. A plain address is short for `listen`.
#[derive(Clone, PartialEq, Eq)]
pub struct Admin {
    /// Address.
    pub listen: Spanned<SocketAddr>,
    /// Token that requests must have.
    pub token: Option<Spanned<String>>,
    /// TLS.
    pub tls: Option<Tls>,
}

impl Default for Admin {
    fn default() -> Self {
        let listen = Spanned::of(SocketAddr::from((Ipv4Addr::LOCALHOST, 8090)));
        Self { listen, token: None, tls: None }
    }
}

/// Listener of a further protocol. A plain address is short for `listen`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerSettings {
    /// Address.
    pub listen: Spanned<SocketAddr>,
    /// TLS.
    pub tls: Option<Tls>,
}

impl ListenerSettings {
    /// Listener without TLS.
    pub fn at(listen: SocketAddr) -> Self {
        Self { listen: Spanned::of(listen), tls: None }
    }
}

impl Admin {
    /// Whether access at an address is restricted: it is a loopback address, or clients must authenticate.
    pub fn is_guarded_at(&self, address: SocketAddr) -> bool {
        let asks = self.token.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        asks || address.ip().to_canonical().is_loopback()
    }
}

/// Omits secrets.
impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("listen", &self.listen).field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// TLS of a listener. Changed files are reloaded.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("certificate key"))]
pub struct Tls {
    /// File with the certificate chain, in PEM format.
    #[schemars(length(min = 1))]
    pub certificate: Spanned<String>,
    /// File with the private key, in PEM format.
    #[schemars(length(min = 1))]
    pub key: Spanned<String>,
    /// File with the certificate authorities of clients. If set, clients must present a certificate of one of them.
    #[schemars(with = "String", length(min = 1))]
    pub client_ca: Option<Spanned<String>>,
}

/// Bounds of connections, for each listener. A connection that exceeds a timeout is closed at the latest an eighth of the
/// timeout (or 20 ms) after it. If many expire at once, 8 are closed per millisecond and core.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Connections {
    /// Maximum number of open connections of each listener; lower if the system allows fewer open files. Beyond it the
    /// longest idle connection is closed; if none has been idle for a second, the new one is refused (503). A connection may
    /// take about `max_head` and twice `max_body` of memory; an idle one takes 20 KiB or less.
    #[schemars(schema_with = "schema::whole::<1, 1_000_000>", extend("default" = 16_384))]
    pub max: Spanned<u32>,
    /// Maximum number of connections from one address (a gateway has only one). IPv6 addresses with the same `ipv6_prefix`
    /// bits are one address.
    #[schemars(schema_with = "schema::whole::<1, 1_000_000>", extend("default" = 4_096))]
    pub max_per_address: Spanned<u32>,
    /// Timeout of a request head, from its first byte; on a new connection from its start, including the TLS handshake (408).
    #[schemars(extend("default" = "10s"))]
    pub head_timeout: Spanned<DurationMs>,
    /// Timeout of the request body (408).
    #[schemars(extend("default" = "10s"))]
    pub body_timeout: Spanned<DurationMs>,
    /// Timeout of writing a response.
    #[schemars(extend("default" = "10s"))]
    pub write_timeout: Spanned<DurationMs>,
    /// Timeout of an idle connection.
    #[schemars(extend("default" = "75s"))]
    pub idle_timeout: Spanned<DurationMs>,
    /// Maximum number of requests of a connection. 0: no maximum.
    #[schemars(schema_with = "schema::whole::<0, { u32::MAX as u64 }>", extend("default" = 0))]
    pub max_requests: u32,
    /// Maximum size of a request head, at least 8KiB (431).
    #[schemars(extend("default" = "64KiB"))]
    pub max_head: Spanned<Bytes>,
    /// Maximum size of a request body (413).
    #[schemars(extend("default" = "64KiB"))]
    pub max_body: Spanned<Bytes>,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            max: Spanned::of(16_384),
            max_per_address: Spanned::of(4_096),
            head_timeout: Spanned::of(DurationMs(10_000)),
            body_timeout: Spanned::of(DurationMs(10_000)),
            write_timeout: Spanned::of(DurationMs(10_000)),
            idle_timeout: Spanned::of(DurationMs(75_000)),
            max_requests: 0,
            max_head: Spanned::of(Bytes(64 << 10)),
            max_body: Spanned::of(Bytes(64 << 10)),
        }
    }
}
