//! How the service listens and answers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use schemars::JsonSchema;

use super::super::schema::{self, Only};
use super::{Admin, Connections, DurationMs, ListenerSettings, Percent, Spanned, Tls};

/// Fewest characters of a token or a permit secret: shorter ones can be guessed.
pub const MIN_SECRET_CHARS: usize = 16;

/// How the service listens and answers.
#[derive(Clone, PartialEq, Eq, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Server {
    /// Where checks are answered.
    #[schemars(schema_with = "schema::socket", extend("default" = "127.0.0.1:8080"))]
    pub http: Spanned<SocketAddr>,
    /// If set, `http` is reached by TLS alone.
    #[schemars(with = "Tls")]
    pub tls: Option<Tls>,
    /// Where Envoy's rate limit service is spoken, over gRPC. Left out: nowhere.
    #[schemars(with = "ListenerSettings")]
    pub grpc: Option<ListenerSettings>,
    /// Where the protocol of Redis is spoken. Left out: nowhere.
    #[schemars(with = "ListenerSettings")]
    pub resp: Option<ListenerSettings>,
    /// Where operators reach it: health, metrics, keys, overrides, reload. Left out: nowhere.
    #[schemars(with = "Admin")]
    pub admin: Option<Admin>,
    /// What connections may take.
    pub connections: Connections,
    /// How long it goes on once it was told to end and says that it is not ready, so that balancers can notice.
    #[schemars(extend("default" = "0"))]
    pub shutdown_delay: DurationMs,
    /// How long requests that are being answered may take after that.
    #[schemars(extend("default" = "10s"))]
    pub shutdown_timeout: DurationMs,
    /// Proxies whose word on the client's address is taken.
    #[schemars(schema_with = "schema::networks", extend("default" = ["127.0.0.0/8", "::1/128"]))]
    pub trusted_proxies: Vec<Spanned<IpNet>>,
    /// For forward-auth: attributes, and the request headers that they are read from.
    #[schemars(extend("examples" = [{ "org": "X-Org" }]))]
    pub attributes: BTreeMap<String, Spanned<String>>,
    /// Which rate limit headers an answer has.
    #[schemars(extend("default" = "draft"))]
    pub headers: HeaderStyle,
    /// How `X-RateLimit-Reset` tells the time.
    #[schemars(extend("default" = "delta"))]
    pub reset: ResetStyle,
    /// By how much `Retry-After` is spread, later only, so that clients do not come back all at once.
    #[schemars(extend("default" = "0%"))]
    pub retry_jitter: Percent,
    /// If set, requests need `Authorization: Bearer …` with it; clients of `resp` need `AUTH` with it. At least 16 characters.
    #[schemars(with = "String", length(min = 16))]
    pub token: Option<Spanned<String>>,
    /// What permits are signed with: at least 16 characters, the same on all nodes. Left out: permits end with the process.
    #[schemars(with = "String", length(min = 16))]
    pub permit_secret: Option<Spanned<String>>,
    /// Whether limits may come in a request (`/v1/limit`, `SG.LIMIT`, `CL.THROTTLE`, limits in descriptors of gRPC and `/json`). Left
    /// out: only where it listens at a loopback address.
    #[schemars(with = "bool")]
    pub ad_hoc_limits: Option<bool>,
    /// The longest that a request may ask to wait for its turn.
    #[schemars(extend("default" = "30s"))]
    pub max_wait: DurationMs,
    /// The most requests that wait at a time.
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

/// Without what is secret.
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

/// Which rate limit headers an answer has. `Retry-After` is there whatever is chosen.
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
    /// None.
    None,
}

/// How `X-RateLimit-Reset` tells the time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum ResetStyle {
    /// In seconds from now.
    #[default]
    Delta,
    /// As seconds since 1970.
    Epoch,
}
