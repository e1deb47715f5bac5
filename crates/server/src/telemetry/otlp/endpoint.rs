//! Endpoint of a collector.

use std::str::FromStr;

use hyper::Uri;
use hyper::http::uri::Scheme;
use slidegate::policy::mask_secrets;

use crate::config::otlp_error::OtlpError;

/// An address of HTTP, and the path below which a collector takes each kind of telemetry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Endpoint {
    pub(super) is_tls: bool,
    /// Without the brackets that an IPv6 address has in a URL.
    pub(super) host: String,
    pub(super) port: u16,
    /// As the header `Host` has it.
    pub(super) authority: String,
    prefix: String,
}

impl Endpoint {
    /// Path of a signal.
    pub(super) fn path(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.prefix)
    }
}

impl FromStr for Endpoint {
    type Err = OtlpError;

    fn from_str(text: &str) -> Result<Self, OtlpError> {
        let read = || {
            let uri: Uri = text.parse().ok()?;
            let is_tls = uri.scheme()? == &Scheme::HTTPS;
            let known = is_tls || uri.scheme()? == &Scheme::HTTP;
            let authority = uri.authority()?;
            let plain = !authority.as_str().contains('@') && uri.query().is_none();
            let host = authority.host().trim_start_matches('[').trim_end_matches(']');
            let port = match authority.port_u16() {
                Some(port) => port,
                None if authority.as_str() != authority.host() => return None,
                None if is_tls => 443,
                None => 80,
            };
            (known && plain && !host.is_empty()).then(|| Self {
                is_tls,
                host: host.to_owned(),
                port,
                authority: authority.as_str().to_owned(),
                prefix: uri.path().trim_end_matches('/').to_owned(),
            })
        };
        read().ok_or_else(|| OtlpError::Endpoint { endpoint: mask_secrets(text) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_collectors() {
        let rows = [
            ("http://127.0.0.1:4318", (false, "127.0.0.1", 4318, "/v1/traces")),
            ("http://collector/", (false, "collector", 80, "/v1/traces")),
            ("https://collector", (true, "collector", 443, "/v1/traces")),
            ("https://example.com:8443/otlp/", (true, "example.com", 8443, "/otlp/v1/traces")),
            ("http://[::1]:4318", (false, "::1", 4318, "/v1/traces")),
        ];
        for (text, expected) in rows {
            let found: Endpoint = text.parse().expect(text);
            assert_eq!((found.is_tls, &*found.host, found.port, &*found.path("traces")), expected);
        }
        for text in [
            "",
            "collector:4318",
            "grpc://collector",
            "http://",
            "http://a?b",
            "http://a@b",
            "http://a:99999",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
        // A login is refused, and not repeated.
        let error = "http://me:hunter2@collector:4318".parse::<Endpoint>().expect_err("an error").to_string();
        assert!(error.contains("@collector:4318") && !error.contains("hunter2"), "{error}");
    }
}
