//! Configuration: servers, timeouts and bounds.

use std::time::Duration;

use super::link::{RedisEndpoint, RedisTls};

/// Default ports of servers and sentinels.
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26_379;

/// Configuration of a Redis store. Nothing is connected before the first request.
#[derive(Clone, Debug)]
pub struct RedisConfig {
    pub(super) servers: Servers,
    pub(super) tls: RedisTls,
    pub(super) timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) prefix: String,
    pub(super) max_batch: usize,
    pub(super) max_waiting: usize,
    pub(super) breaker: BreakerSettings,
    pub(super) deny_cache: Duration,
    pub(super) deny_cache_entries: usize,
}

/// Servers, or how to find them.
#[derive(Clone, Debug)]
pub(super) enum Servers {
    One(RedisEndpoint),
    /// Nodes through which the others are found.
    Cluster(Vec<RedisEndpoint>),
    /// `primary` is without its address, which the sentinels report.
    Sentinel {
        sentinels: Vec<RedisEndpoint>,
        name: String,
        primary: RedisEndpoint,
    },
}

/// Settings of the circuit breaker.
#[derive(Clone, Copy, Debug)]
pub(super) struct BreakerSettings {
    /// Failures in a row that open it.
    pub(super) failures: u32,
    /// First time for which it stays open.
    pub(super) cooldown: Duration,
    /// Maximum of that time, which every failed probe doubles.
    pub(super) max_cooldown: Duration,
}

/// Client certificate and key, both in PEM.
#[derive(Clone, Copy)]
pub struct ClientCertificate<'a> {
    /// Certificate, and the intermediate ones up to an authority.
    pub chain: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
}

/// Error of an invalid configuration.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedisConfigError {
    /// The URL is invalid. The message does not repeat it, since it may contain a password.
    #[error("invalid Redis URL: {0}; expected redis://user:password@host:6379/0, or rediss:// for TLS")]
    Url(String),
    /// No server is configured.
    #[error("no server configured; expected at least one URL, as in redis://host:6379")]
    NoServer,
    /// A Cluster has one database.
    #[error("a Cluster supports only database 0; remove the number from the URL")]
    Database,
    /// A Cluster or a set of sentinels cannot be reached through a socket file.
    #[error("Cluster and Sentinel need host names; unix sockets are for a single server")]
    Socket,
    /// The servers of one store are reached in one way.
    #[error("cannot mix redis:// and rediss:// URLs; use TLS for all servers or for none")]
    Mixed,
    /// The prefix would change which part of a key is its hash tag.
    #[error("prefix {0:?} contains a brace; choose one without {{ and }}")]
    Prefix(String),
    /// A certificate or key cannot be read.
    #[error("invalid {what}: {why}; expected PEM with BEGIN and END lines")]
    Pem {
        /// Name of the certificate or key.
        what: &'static str,
        /// Reason.
        why: String,
    },
}

impl RedisConfig {
    /// One server: `redis://user:password@host:6379/0`, `rediss://…` for TLS, or
    /// `unix:///path/to/socket`.
    pub fn parse(url: &str) -> Result<Self, RedisConfigError> {
        RedisEndpoint::parse(url, PORT).map(|endpoint| Self::of(Servers::One(endpoint)))
    }

    /// A Cluster, found through any of these nodes. User and password of the first URL are used for
    /// all nodes. With TLS, nodes have to announce the names in their certificates.
    pub fn cluster<'a>(urls: impl IntoIterator<Item = &'a str>) -> Result<Self, RedisConfigError> {
        let seeds = several(urls, PORT)?;
        if seeds.iter().any(|seed| seed.login.db() != 0) {
            return Err(RedisConfigError::Database);
        }
        Ok(Self::of(Servers::Cluster(seeds)))
    }

    /// The primary that these sentinels monitor as `name`. User, password and database of the first
    /// URL are for that primary; see [`RedisConfig::sentinel_password`] for those of the sentinels.
    pub fn sentinel<'a>(
        urls: impl IntoIterator<Item = &'a str>,
        name: impl Into<String>,
    ) -> Result<Self, RedisConfigError> {
        let endpoints = several(urls, SENTINEL_PORT)?;
        let primary = endpoints[0].clone();
        let sentinels = endpoints.into_iter().map(RedisEndpoint::without_login).collect();
        Ok(Self::of(Servers::Sentinel { sentinels, name: name.into(), primary }))
    }

    fn of(servers: Servers) -> Self {
        Self {
            servers,
            tls: RedisTls::default(),
            timeout: Duration::from_millis(50),
            connect_timeout: Duration::from_secs(1),
            prefix: "sg:".to_owned(),
            max_batch: 16,
            max_waiting: 16_384,
            breaker: BreakerSettings {
                failures: 3,
                cooldown: Duration::from_millis(200),
                max_cooldown: Duration::from_secs(1),
            },
            deny_cache: Duration::from_millis(500),
            deny_cache_entries: 65_536,
        }
    }
}

/// Settings; each replaces a default.
impl RedisConfig {
    /// Password for the sentinels; none by default, even if the URLs have one.
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.each_sentinel(|sentinel| sentinel.login = sentinel.login.clone().set_password(password));
        self
    }

    /// User for the sentinels, if it is not the default one.
    pub fn sentinel_user(mut self, user: &str) -> Self {
        self.each_sentinel(|sentinel| sentinel.login = sentinel.login.clone().set_username(user));
        self
    }

    fn each_sentinel(&mut self, change: impl FnMut(&mut RedisEndpoint)) {
        if let Servers::Sentinel { sentinels, .. } = &mut self.servers {
            sentinels.iter_mut().for_each(change);
        }
    }

    /// Trusts the authorities in this PEM, and only those, instead of the system's.
    pub fn root_certificate(mut self, pem: &[u8]) -> Result<Self, RedisConfigError> {
        self.tls.trust(pem)?;
        Ok(self)
    }

    /// Authenticates to servers with this certificate.
    pub fn client_certificate(
        mut self,
        certificate: ClientCertificate<'_>,
    ) -> Result<Self, RedisConfigError> {
        self.tls.identify(certificate)?;
        Ok(self)
    }

    /// Timeout of a decision, including retries; 50 ms by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Timeout of a connection attempt, in the background; 1 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Prefix of all keys; `sg:` by default.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Result<Self, RedisConfigError> {
        let prefix = prefix.into();
        if prefix.contains(['{', '}']) {
            return Err(RedisConfigError::Prefix(prefix));
        }
        self.prefix = prefix;
        Ok(self)
    }

    /// Maximum number of requests in one call; 16 by default. 0 is taken as 1.
    pub fn max_batch(mut self, requests: usize) -> Self {
        self.max_batch = requests.max(1);
        self
    }

    /// Maximum number of requests that wait for one server; 16,384 by default. 0 is taken as 1.
    pub fn max_waiting(mut self, requests: usize) -> Self {
        self.max_waiting = requests.clamp(1, tokio::sync::Semaphore::MAX_PERMITS);
        self
    }

    /// Consecutive failures that open the circuit breaker; 3 by default. 0 is taken as 1.
    pub fn breaker_failures(mut self, failures: u32) -> Self {
        self.breaker.failures = failures.max(1);
        self
    }

    /// Time for which the circuit breaker stays open, doubling with every failed probe; 200 ms to 1
    /// s by default.
    pub fn breaker_cooldown(mut self, range: std::ops::RangeInclusive<Duration>) -> Self {
        self.breaker.cooldown = *range.start();
        self.breaker.max_cooldown = (*range.end()).max(*range.start());
        self
    }

    /// Maximum age of an entry of the deny cache; 500 ms by default, and zero turns the cache off.
    pub fn deny_cache(mut self, longest: Duration) -> Self {
        self.deny_cache = longest;
        self
    }

    /// Maximum number of entries of the deny cache; 65,536 by default.
    pub fn deny_cache_entries(mut self, entries: usize) -> Self {
        self.deny_cache_entries = entries;
        self
    }
}

fn several<'a>(
    urls: impl IntoIterator<Item = &'a str>,
    port: u16,
) -> Result<Vec<RedisEndpoint>, RedisConfigError> {
    let endpoints =
        urls.into_iter().map(|url| RedisEndpoint::parse(url, port)).collect::<Result<Vec<_>, _>>()?;
    let first = endpoints.first().ok_or(RedisConfigError::NoServer)?;
    if endpoints.iter().any(RedisEndpoint::is_socket) {
        return Err(RedisConfigError::Socket);
    }
    if endpoints.iter().any(|endpoint| endpoint.transport != first.transport) {
        return Err(RedisConfigError::Mixed);
    }
    Ok(endpoints)
}

#[cfg(test)]
mod tests;
