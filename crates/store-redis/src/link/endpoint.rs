//! Endpoint of a server: address, transport and login.

use std::fmt;
use std::path::PathBuf;

use redis::{ConnectionAddr, IntoConnectionInfo, ProtocolVersion, RedisConnectionInfo};

use crate::config::RedisConfigError;

/// Settings in the query of a URL. An unknown one is an error.
const SETTINGS: [&str; 4] = ["protocol", "db", "user", "pass"];

/// Endpoint of a server.
#[derive(Clone, Debug)]
pub(crate) struct RedisEndpoint {
    pub(super) address: Address,
    pub(crate) transport: Transport,
    pub(crate) login: RedisConnectionInfo,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Address {
    Tcp { host: String, port: u16 },
    Unix(PathBuf),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    Plain,
    Tls,
}

impl RedisEndpoint {
    /// Parses a URL; `port` is the default port of such a server.
    pub(crate) fn parse(url: &str, port: u16) -> Result<Self, RedisConfigError> {
        let parsed =
            redis::parse_redis_url(url).ok_or_else(|| RedisConfigError::Url("not a URL of Redis".into()))?;
        if let Some((name, _)) = parsed.query_pairs().find(|(name, _)| !SETTINGS.contains(&name.as_ref())) {
            return Err(RedisConfigError::Url(format!("unknown setting {name:?}")));
        }
        let port = parsed.port().unwrap_or(port);
        let info = parsed.into_connection_info().map_err(|error| RedisConfigError::Url(error.to_string()))?;
        let (address, transport) = match info.addr() {
            ConnectionAddr::Tcp(host, _) => (Address::tcp(host, port), Transport::Plain),
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                let why = "#insecure is not supported, trust the server's root certificate instead";
                return Err(RedisConfigError::Url(why.into()));
            }
            ConnectionAddr::TcpTls { host, .. } => (Address::tcp(host, port), Transport::Tls),
            ConnectionAddr::Unix(path) => (Address::Unix(path.clone()), Transport::Plain),
            _ => return Err(RedisConfigError::Url("unknown kind of address".into())),
        };
        Ok(Self { address, transport, login: greeting(info.redis_settings().clone()) })
    }

    pub(crate) fn is_socket(&self) -> bool {
        matches!(self.address, Address::Unix(_))
    }

    /// The same address without user and password.
    pub(crate) fn without_login(self) -> Self {
        Self { login: greeting(RedisConnectionInfo::default()), ..self }
    }

    /// The same kind of server elsewhere.
    pub(super) fn at(&self, address: Address) -> Self {
        Self { address, ..self.clone() }
    }
}

/// Login with RESP2, which every server and proxy speaks.
fn greeting(login: RedisConnectionInfo) -> RedisConnectionInfo {
    login.set_protocol(ProtocolVersion::RESP2).set_lib_name("slidegate", env!("CARGO_PKG_VERSION"))
}

impl Address {
    pub(super) fn tcp(host: &str, port: u16) -> Self {
        Self::Tcp { host: host.to_owned(), port }
    }

    /// Address in MOVED and ASK: `host:port`, with IPv6 without brackets, and the sender's host if
    /// there is none.
    pub(super) fn redirect(text: &str, sender: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Self::announced(host, port.parse().ok()?, sender)
    }

    /// Address of a node, as another one announces it; `?` is an unknown host.
    pub(super) fn announced(host: &str, port: u16, sender: &Self) -> Option<Self> {
        match (host, sender) {
            ("?", _) => None,
            ("", Self::Tcp { host, .. }) => Some(Self::tcp(host, port)),
            ("", Self::Unix(_)) => None,
            (host, _) => Some(Self::tcp(host.trim_matches(['[', ']']), port)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(formatter, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(formatter, "{host}:{port}"),
            Self::Unix(path) => write!(formatter, "{}", path.display()),
        }
    }
}

impl fmt::Display for RedisEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_name_hosts_in_several_ways() {
        let sender = Address::tcp("node", 7000);
        for (text, expected) in [
            ("10.0.0.1:7001", Some(Address::tcp("10.0.0.1", 7001))),
            (":7001", Some(Address::tcp("node", 7001))),
            ("fe80::1:7001", Some(Address::tcp("fe80::1", 7001))),
            ("?:7001", None),
            ("7001", None),
            ("host:none", None),
        ] {
            assert_eq!(Address::redirect(text, &sender), expected, "{text}");
        }
    }
}
