//! How listeners protect themselves, and who may speak to them.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Bytes, DurationMs, Spanned};

/// Where operators reach the service. An address alone stands for `listen`.
#[derive(Clone, PartialEq, Eq)]
pub struct Admin {
    /// Where to listen.
    pub listen: Spanned<SocketAddr>,
    /// What requests have to bring.
    pub token: Option<Spanned<String>>,
    /// Certificates.
    pub tls: Option<Tls>,
}

impl Default for Admin {
    fn default() -> Self {
        let listen = Spanned::of(SocketAddr::from((Ipv4Addr::LOCALHOST, 8090)));
        Self { listen, token: None, tls: None }
    }
}

/// Where one more protocol is spoken. An address alone stands for `listen`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerSettings {
    /// Where to listen.
    pub listen: Spanned<SocketAddr>,
    /// Certificates.
    pub tls: Option<Tls>,
}

impl ListenerSettings {
    /// Without certificates.
    pub fn at(listen: SocketAddr) -> Self {
        Self { listen: Spanned::of(listen), tls: None }
    }
}

impl Admin {
    /// Whether strangers are kept out at an address: nobody else's machine reaches it, or it asks who is there.
    pub fn is_guarded_at(&self, address: SocketAddr) -> bool {
        let asks = self.token.is_some() || self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        asks || address.ip().to_canonical().is_loopback()
    }
}

/// Without what is secret.
impl fmt::Debug for Admin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("listen", &self.listen).field("tls", &self.tls).finish_non_exhaustive()
    }
}

/// The certificate of a listener. The files are read again when they change.
#[derive(Clone, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only("certificate key"))]
pub struct Tls {
    /// The file with the certificate and those that vouch for it, as PEM.
    #[schemars(length(min = 1))]
    pub certificate: Spanned<String>,
    /// The file with its private key, as PEM.
    #[schemars(length(min = 1))]
    pub key: Spanned<String>,
    /// If set, clients need a certificate that one of this file's authorities vouches for.
    #[schemars(with = "String", length(min = 1))]
    pub client_ca: Option<Spanned<String>>,
}

/// What connections may take. Each listener has as much to give. What takes too long is ended not before its time, and at the
/// latest an eighth of it (or 20 ms) after it; of a crowd 8 end in a millisecond for each core.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Connections {
    /// The most that are open at a time on each listener; fewer, where the system allows fewer open files. For a further one the
    /// longest idle is closed; if none has been idle for a second, it is told to come again (503). Each may take about `max_head` and
    /// twice `max_body` of memory; one that waits for its next request takes 20 KiB or less.
    #[schemars(schema_with = "schema::whole::<1, 1_000_000>", extend("default" = 16_384))]
    pub max: Spanned<u32>,
    /// The most from one address, of which a gateway has only one. IPv6 addresses that share `ipv6_prefix` bits are one.
    #[schemars(schema_with = "schema::whole::<1, 1_000_000>", extend("default" = 4_096))]
    pub max_per_address: Spanned<u32>,
    /// How long a request's head may take, from the first byte; of a new connection, from its beginning, with the
    /// handshake of TLS. A part of a request that came is told 408.
    #[schemars(extend("default" = "10s"))]
    pub head_timeout: Spanned<DurationMs>,
    /// How long a request's body may take (408).
    #[schemars(extend("default" = "10s"))]
    pub body_timeout: Spanned<DurationMs>,
    /// How long a client may take to accept an answer.
    #[schemars(extend("default" = "10s"))]
    pub write_timeout: Spanned<DurationMs>,
    /// How long a connection may wait for its next request.
    #[schemars(extend("default" = "75s"))]
    pub idle_timeout: Spanned<DurationMs>,
    /// After how many requests a connection is ended. 0: it is not.
    #[schemars(schema_with = "schema::whole::<0, { u32::MAX as u64 }>", extend("default" = 0))]
    pub max_requests: u32,
    /// The largest head of a request, at least 8KiB (431).
    #[schemars(extend("default" = "64KiB"))]
    pub max_head: Spanned<Bytes>,
    /// The largest body of a request (413).
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
