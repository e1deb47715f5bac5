//! Settings of the server.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Admin, Connections, DurationMs, ListenerSettings, Percent, Spanned, Tls};

/// Minimum length of a token or a permit secret: shorter ones can be guessed.
pub const MIN_SECRET_CHARS: usize = 16;

/// Settings of the server: listeners and responses.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Server {
    /// Address of the HTTP listener.
    #[schemars(schema_with = "schema::socket", extend("default" = "127.0.0.1:8080"))]
    pub http: Spanned<SocketAddr>,
    /// TLS of the HTTP listener.
    #[schemars(with = "Tls")]
    pub tls: Option<Tls>,
    /// gRPC listener with the rate limit service of Envoy. Default: off.
    #[schemars(with = "ListenerSettings")]
    pub grpc: Option<ListenerSettings>,
    /// Listener for the Redis protocol. Default: off.
    #[schemars(with = "ListenerSettings")]
    pub resp: Option<ListenerSettings>,
    /// Listener for operators: health, metrics, keys, overrides, reload. Default: off.
    #[schemars(with = "Admin")]
    pub admin: Option<Admin>,
    /// Bounds of connections.
    pub connections: Connections,
    /// Time between the signal to stop, when the server reports that it is not ready, and the end of accepting requests,
    /// so that load balancers can react.
    #[schemars(extend("default" = "0"))]
    pub shutdown_delay: DurationMs,
    /// Maximum time that requests in progress may take after that.
    #[schemars(extend("default" = "10s"))]
    pub shutdown_timeout: DurationMs,
    /// Proxies whose forwarding headers are trusted for the address of the client.
    #[schemars(schema_with = "schema::networks", extend("default" = ["127.0.0.0/8", "::1/128"]))]
    pub trusted_proxies: Vec<Spanned<IpNet>>,
    /// For forward-auth: attributes and the request headers that they are read from.
    #[schemars(extend("examples" = [{ "org": "X-Org" }]))]
    pub attributes: BTreeMap<String, Spanned<String>>,
    /// Rate limit headers of responses.
    #[schemars(extend("default" = "draft"))]
    pub headers: HeaderStyle,
    /// Format of `X-RateLimit-Reset`.
    #[schemars(extend("default" = "delta"))]
    pub reset: ResetStyle,
    /// Jitter added to `Retry-After`, so that clients do not all retry at once.
    #[schemars(extend("default" = "0%"))]
    pub retry_jitter: Percent,
    /// Token that requests must have in `Authorization: Bearer …`, and clients of `resp` in `AUTH`. At least 16 characters.
    #[schemars(with = "String", length(min = 16))]
    pub token: Option<Spanned<String>>,
    /// Secret that signs permits: at least 16 characters, the same on all nodes. Default: a random one, so that permits end
    /// with the process.
    #[schemars(with = "String", length(min = 16))]
    pub permit_secret: Option<Spanned<String>>,
    /// Whether requests may contain limits (`/v1/limit`, `SG.LIMIT`, `CL.THROTTLE`, limits in descriptors of gRPC and
    /// `/json`). Default: only on loopback addresses.
    #[schemars(with = "bool")]
    pub ad_hoc_limits: Option<bool>,
    /// Maximum time that a request may wait.
    #[schemars(extend("default" = "30s"))]
    pub max_wait: DurationMs,
    /// Maximum number of waiting requests.
    #[schemars(schema_with = "schema::whole::<0, { u32::MAX as u64 }>", extend("default" = 10_000))]
    pub max_waiting: u32,
}

impl Default for Server {
    fn default() -> Self {
        let loopback = [
            IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8)),
            IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128)),
        ];
        Self {
            http: Spanned::of(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))),
            tls: None,
            grpc: None,
            resp: None,
            admin: None,
            connections: Connections::default(),
            shutdown_delay: DurationMs(0),
            shutdown_timeout: DurationMs(10_000),
            trusted_proxies: loopback.map(Spanned::of).into(),
            attributes: BTreeMap::new(),
            headers: HeaderStyle::Draft,
            reset: ResetStyle::Delta,
            retry_jitter: Percent(0),
            token: None,
            permit_secret: None,
            ad_hoc_limits: None,
            max_wait: DurationMs(30_000),
            max_waiting: 10_000,
        }
    }
}

/// Omits secrets.
impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("http", &self.http)
            .field("tls", &self.tls)
            .field("grpc", &self.grpc)
            .field("resp", &self.resp)
            .field("admin", &self.admin)
            .field("connections", &self.connections)
            .field("shutdown_delay", &self.shutdown_delay)
            .field("shutdown_timeout", &self.shutdown_timeout)
            .field("trusted_proxies", &self.trusted_proxies)
            .field("attributes", &self.attributes)
            .field("headers", &self.headers)
            .field("reset", &self.reset)
            .field("retry_jitter", &self.retry_jitter)
            .field("ad_hoc_limits", &self.ad_hoc_limits)
            .field("max_wait", &self.max_wait)
            .field("max_waiting", &self.max_waiting)
            .finish_non_exhaustive()
    }
}

/// Rate limit headers of responses. `Retry-After` is always present.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum HeaderStyle {
    /// `RateLimit-Policy` and `RateLimit`, as in the IETF draft.
    #[default]
    Draft,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.
    Legacy,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    #[schemars(rename = "x-ratelimit")]
    XRateLimit,
    /// No headers.
    None,
}

/// Format of `X-RateLimit-Reset`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum ResetStyle {
    /// Seconds from now.
    #[default]
    Delta,
    /// Unix time in seconds.
    Epoch,
}
