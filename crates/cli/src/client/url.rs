//! URL of a server: `http://host:port` or `https://host:port`, with the path prefix of a proxy, if
//! any.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// URL of a server, without query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ServerUrl {
    https: bool,
    /// As in a URL: an IPv6 address is in brackets.
    host: String,
    port: u16,
    prefix: String,
}

impl ServerUrl {
    pub(super) fn is_https(&self) -> bool {
        self.https
    }

    /// Host without the brackets of an IPv6 address.
    pub(super) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The same URL with https instead of http, or the other way round.
    pub(super) fn with_other_scheme(&self) -> Self {
        Self { https: !self.https, ..self.clone() }
    }
}

impl FromStr for ServerUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || format!("invalid URL {text:?}: expected, for example, http://127.0.0.1:8080");
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        let (https, default_port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(invalid()),
        };
        let host = uri.host().filter(|host| !host.is_empty() && uri.query().is_none());
        let host = host.ok_or_else(invalid)?.to_owned();
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { https, host, port: uri.port_u16().unwrap_or(default_port), prefix })
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}:{}{}", self.host, self.port, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_parse() {
        let rows = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", "127.0.0.1"),
            ("http://limits", "http://limits:80", "limits"),
            ("https://limits", "https://limits:443", "limits"),
            ("https://limits:8443/behind/it/", "https://limits:8443/behind/it", "limits"),
            ("http://[::1]:81", "http://[::1]:81", "::1"),
        ];
        for (text, expected, host) in rows {
            let url: ServerUrl = text.parse().expect(text);
            assert_eq!((url.to_string().as_str(), url.host()), (expected, host));
        }
        for text in ["", "127.0.0.1:8080", "limits", "ftp://limits", "http://", "https://", "http://a?b=c"] {
            assert!(text.parse::<ServerUrl>().is_err(), "{text}");
        }
    }
}
