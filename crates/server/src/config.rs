//! What the service is set to: a policy file, checked and in the form that requests need.

pub(crate) mod exposure;
pub(crate) mod listener;

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use slidegate::headers::{Headers, Reset, Style};
use slidegate::policy::file::{HeaderStyle, MIN_SECRET_CHARS, ResetStyle, Server, Spanned};
use slidegate::policy::{Policy, Settings};
use slidegate::store::redis::RedisConfigError;

use crate::net::connections::Bounds;
use crate::net::tls::TlsError;
use crate::runtime::backend::Backend;
use crate::runtime::snapshot::SnapshotStartError;
use crate::telemetry::otlp::Telemetry;

/// A policy and the settings beside it, as [`Policy::parse`] gives them.
#[derive(Debug)]
pub struct Config {
    /// The rules.
    pub policy: Policy,
    /// How to listen, and where state is kept.
    pub settings: Settings,
}

impl From<(Policy, Settings)> for Config {
    fn from((policy, settings): (Policy, Settings)) -> Self {
        Self { policy, settings }
    }
}

impl Config {
    /// Whether a service could be started with it; nothing is.
    pub fn check(&self) -> Result<(), ConfigError> {
        HttpSettings::new(&self.settings)?;
        Telemetry::check(&self.settings)?;
        Backend::check(&self.settings.store)
    }
}

/// What is wrong with the settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The store's address cannot be used.
    #[error("store: {0}")]
    Store(#[from] RedisConfigError),
    /// `kind: redis` does not say where.
    #[error("store: kind redis needs one of url, nodes and sentinel, as in url: redis://127.0.0.1:6379")]
    NoServer,
    /// The file of `store.snapshot` cannot be used.
    #[error("store.snapshot: {0}")]
    Snapshot(#[from] SnapshotStartError),
    /// An attribute is to be read from something that is not a header.
    #[error("server.attributes: {attribute}: {header:?} is not the name of a header, as X-Api-Key is")]
    HeaderName {
        /// The attribute.
        attribute: String,
        /// What is not a header.
        header: String,
    },
    /// The client's address is not read from a header of its own.
    #[error("server.attributes: ip comes from the connection and trusted_proxies; choose another name")]
    AddressFromHeader,
    /// A listener's certificate cannot be used.
    #[error("{setting}: {error}")]
    Tls {
        /// Whose it is.
        setting: &'static str,
        /// Which file, and what is wrong with it.
        error: TlsError,
    },
    /// Other machines could reach the admin listener, and nobody would be asked who they are.
    #[error(
        "server.admin: {address} can be reached by other machines, and anybody there could change limits: listen at \
         127.0.0.1, or give it a token (--admin-token), or tls with a client_ca"
    )]
    AdminIsOpen {
        /// Where it would listen.
        address: SocketAddr,
    },
    /// A token could be guessed.
    #[error("{0} is too short: use at least {MIN_SECRET_CHARS} characters, or leave it out")]
    ShortToken(&'static str),
    /// A listener was given for which there are no settings.
    #[error("server.admin: there is a listener at {address} and no setting for it")]
    AdminIsNotSet {
        /// Where it listens.
        address: SocketAddr,
    },
    /// Telemetry is to be sent, and this program cannot do that.
    #[error(
        "observe.otlp: this program was built without OpenTelemetry: build it with `cargo build --release --features \
         otlp`, or take the setting out of the file"
    )]
    WithoutOtlp,
    /// Telemetry cannot be sent as it is set.
    #[cfg(feature = "otlp")]
    #[error("observe.otlp: {0}")]
    Otlp(#[from] crate::telemetry::otlp::OtlpError),
    /// What a value says was reported as wrong when the file was read.
    #[error("{0} has no value")]
    Missing(&'static str),
}

/// The settings of HTTP.
pub(crate) struct HttpSettings {
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
    pub(crate) connections: Bounds,
    pub(crate) shutdown_delay: Duration,
    pub(crate) shutdown_timeout: Duration,
}

impl HttpSettings {
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
            connections: Bounds::new(&server.connections, settings.ipv6_prefix)?,
            shutdown_delay: Duration::from_millis(server.shutdown_delay.0),
            shutdown_timeout: Duration::from_millis(server.shutdown_timeout.0),
        })
    }
}

/// What a setting says.
pub(crate) fn value<'a, T>(spot: &'a Spanned<T>, name: &'static str) -> Result<&'a T, ConfigError> {
    spot.value.as_ref().ok_or(ConfigError::Missing(name))
}

/// What requests have to bring. One that is empty would be none, and look like one.
pub(crate) fn token<'a>(
    token: Option<&'a Spanned<String>>,
    name: &'static str,
) -> Result<Option<&'a str>, ConfigError> {
    let Some(token) = token else { return Ok(None) };
    let token = value(token, name)?;
    match token.chars().count() {
        0..MIN_SECRET_CHARS => Err(ConfigError::ShortToken(name)),
        _ => Ok(Some(token)),
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
