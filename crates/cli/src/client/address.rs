//! Where a server is: `http://host:port` or `https://host:port`, and a path if a proxy in front wants one.

use std::fmt;
use std::str::FromStr;

use hyper::Uri;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scheme {
    Http,
    Https,
}

impl Scheme {
    fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    fn usual_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The address of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Address {
    scheme: Scheme,
    /// As in a URL: an IPv6 address stands in brackets.
    host: String,
    port: u16,
    prefix: String,
}

impl Address {
    pub(super) fn is_tls(&self) -> bool {
        self.scheme == Scheme::Https
    }

    /// An IPv6 address stands in brackets in a URL, and without them everywhere else.
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

    /// The same place, spoken to in the other way.
    pub(super) fn with_other_scheme(&self) -> Self {
        let scheme = match self.scheme {
            Scheme::Http => Scheme::Https,
            Scheme::Https => Scheme::Http,
        };
        Self { scheme, ..self.clone() }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no address; write http://127.0.0.1:8080");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let scheme = match uri.scheme_str() {
            Some("http") => Scheme::Http,
            Some("https") => Scheme::Https,
            _ => return Err(wrong()),
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?.to_owned();
        if uri.query().is_some() {
            return Err(wrong());
        }
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { scheme, host, port: uri.port_u16().unwrap_or(scheme.usual_port()), prefix })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}:{}{}", self.scheme.name(), self.host, self.port, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let rows = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080", "127.0.0.1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080", "127.0.0.1"),
            ("http://limits", "http://limits:80", "limits"),
            ("https://limits", "https://limits:443", "limits"),
            ("https://limits:8443/behind/it/", "https://limits:8443/behind/it", "limits"),
            ("http://[::1]:81", "http://[::1]:81", "::1"),
        ];
        for (text, expected, host) in rows {
            let address: Address = text.parse().expect(text);
            assert_eq!((address.to_string().as_str(), address.host()), (expected, host));
        }
        for text in ["", "127.0.0.1:8080", "limits", "ftp://limits", "http://", "https://", "http://a?b=c"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
