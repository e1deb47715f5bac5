//! URL of a server: `http://host:port` or `https://host:port`, with a path prefix, if any.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

/// URL of a server, without login and query.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpUrl {
    https: bool,
    /// As in a URL: an IPv6 address is in brackets.
    host: String,
    port: u16,
    prefix: String,
}

/// Error of a text that is not such a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected a URL such as http://127.0.0.1:8080")]
pub struct InvalidUrl;

impl HttpUrl {
    /// Whether it uses TLS.
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Host, without the brackets of an IPv6 address.
    pub fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The same URL with https instead of http, or the other way round.
    pub fn with_other_scheme(&self) -> Self {
        Self { https: !self.https, ..self.clone() }
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
}

impl FromStr for HttpUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<Self, InvalidUrl> {
        let uri: Uri = text.parse().map_err(|_| InvalidUrl)?;
        let (https, default_port) = match uri.scheme_str() {
            Some("http") => (false, 80),
            Some("https") => (true, 443),
            _ => return Err(InvalidUrl),
        };
        let authority = uri.authority().ok_or(InvalidUrl)?;
        let port = match authority.port_u16() {
            Some(port) => port,
            None if authority.as_str() == authority.host() => default_port,
            None => return Err(InvalidUrl),
        };
        if authority.host().is_empty() || authority.as_str().contains('@') || uri.query().is_some() {
            return Err(InvalidUrl);
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { https, host: authority.host().to_owned(), port, prefix })
    }
}

impl fmt::Display for HttpUrl {
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
            ("http://collector/", "http://collector:80", "collector"),
            ("https://limits", "https://limits:443", "limits"),
            ("https://limits:8443/behind/it/", "https://limits:8443/behind/it", "limits"),
            ("http://[::1]:81", "http://[::1]:81", "::1"),
        ];
        for (text, expected, host) in rows {
            let url: HttpUrl = text.parse().expect(text);
            assert_eq!((url.to_string().as_str(), url.host()), (expected, host));
            assert_eq!(url.is_https(), text.starts_with("https:"));
        }
        let invalid = [
            "",
            "127.0.0.1:8080",
            "collector:4318",
            "limits",
            "ftp://limits",
            "grpc://collector",
            "http://",
            "https://",
            "http://a?b",
            "http://a?b=c",
            "http://a@b",
            "http://a:99999",
        ];
        for text in invalid {
            assert_eq!(text.parse::<HttpUrl>(), Err(InvalidUrl), "{text}");
        }
    }
}
