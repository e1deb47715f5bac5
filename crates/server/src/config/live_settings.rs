//! Settings that a reload replaces while the server runs.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use slidegate::headers::{Headers, Reset, Style};
use slidegate::policy::Settings;
use slidegate::policy::file::{HeaderStyle, ResetStyle, Server};

use super::connection_limits::ConnectionLimits;
use super::error::ConfigError;
use super::exposure;
use super::value::{token, value};

/// Settings that a reload replaces while the server runs.
pub(crate) struct LiveSettings {
    pub(crate) token: Option<Box<str>>,
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Attributes of forward-auth, and the headers that they are read from.
    pub(crate) attributes: Vec<(Box<str>, HeaderName)>,
    pub(crate) headers: Headers,
    /// Whether limits may come in a request over HTTP.
    pub(crate) ad_hoc_limits: bool,
    /// Whether they may in descriptors over gRPC.
    pub(crate) grpc_ad_hoc_limits: bool,
    /// Whether they may in the protocol of Redis.
    pub(crate) resp_ad_hoc_limits: bool,
    pub(crate) max_wait_ms: u64,
    pub(crate) max_waiting: usize,
    pub(crate) permit_secret: Option<[u8; 32]>,
    pub(crate) connections: ConnectionLimits,
    pub(crate) shutdown_delay: Duration,
    pub(crate) shutdown_timeout: Duration,
}

impl LiveSettings {
    pub(crate) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let server = &settings.server;
        exposure::check_settings(server)?;
        let http = value(&server.http, "server.http")?;
        let is_local = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        let ad_hoc =
            |listen: Option<SocketAddr>| server.ad_hoc_limits.unwrap_or_else(|| listen.is_some_and(is_local));
        let token = token(server.token.as_ref(), "server.token")?;
        let secret = server.permit_secret.as_ref();
        let secret = secret.map(|secret| value(secret, "server.permit_secret")).transpose()?;
        Ok(Self {
            token: token.map(Into::into),
            trusted_proxies: server.trusted_proxies.iter().filter_map(|net| net.value).collect(),
            attributes: attributes(server)?,
            headers: headers(server),
            ad_hoc_limits: ad_hoc(Some(*http)),
            grpc_ad_hoc_limits: ad_hoc(server.grpc.as_ref().and_then(|grpc| grpc.listen.value)),
            resp_ad_hoc_limits: ad_hoc(server.resp.as_ref().and_then(|resp| resp.listen.value)),
            max_wait_ms: server.max_wait.0,
            max_waiting: server.max_waiting as usize,
            permit_secret: secret.map(|secret| Sha256::digest(secret.as_bytes()).into()),
            connections: ConnectionLimits::new(&server.connections, settings.ipv6_prefix)?,
            shutdown_delay: Duration::from_millis(server.shutdown_delay.0),
            shutdown_timeout: Duration::from_millis(server.shutdown_timeout.0),
        })
    }
}

fn attributes(server: &Server) -> Result<Vec<(Box<str>, HeaderName)>, ConfigError> {
    let named = server.attributes.iter().map(|(attribute, header)| {
        let header = value(header, "server.attributes")?;
        if attribute == "ip" {
            return Err(ConfigError::AddressFromHeader);
        }
        let bad = || ConfigError::HeaderName { attribute: attribute.clone(), header: header.clone() };
        let name = HeaderName::from_bytes(header.as_bytes()).map_err(|_| bad())?;
        Ok((attribute.as_str().into(), name))
    });
    named.collect()
}

fn headers(server: &Server) -> Headers {
    let reset = match server.reset {
        ResetStyle::Delta => Reset::Delta,
        ResetStyle::Epoch => Reset::Epoch,
    };
    let style = match server.headers {
        HeaderStyle::Draft => Style::Draft,
        HeaderStyle::Legacy => Style::Legacy,
        HeaderStyle::XRateLimit => Style::XRateLimit(reset),
        HeaderStyle::None => Style::None,
    };
    Headers { style, retry_jitter: server.retry_jitter.0 }
}
