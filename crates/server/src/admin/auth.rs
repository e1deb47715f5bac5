//! Authentication of admin requests: a token; without one, protection against web pages.
//!
//! A browser on the same machine reaches a loopback address too. It sends an `Origin` with requests
//! of foreign pages, and no JSON body without a preflight. A page whose host name resolves to
//! 127.0.0.1 (DNS rebinding) is recognised by its `Host`.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{CONTENT_TYPE, HOST, HeaderName, ORIGIN};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, StatusCode};

use crate::config::{ServerSettings, exposure};
use crate::protocols::auth;
use crate::protocols::problem::Problem;
use crate::telemetry::auth_failures::AuthFailure;

/// Refusal of an admin request.
#[derive(Debug)]
pub(super) enum AuthRefusal {
    Token(AuthFailure),
    Other(Problem),
}

impl From<Problem> for AuthRefusal {
    fn from(problem: Problem) -> Self {
        Self::Other(problem)
    }
}

/// Authenticates a request. `bound` is the address of the listener.
pub(super) fn check(
    server: &ServerSettings,
    bound: Option<SocketAddr>,
    head: &Parts,
) -> Result<(), AuthRefusal> {
    let (Some(admin), Some(bound)) = (&server.admin, bound) else { return Err(exposed().into()) };
    if exposure::check_at(admin, bound).is_err() {
        return Err(exposed().into());
    }
    if let Some(expected) = admin.token.as_deref() {
        return auth::check(&head.headers, Some(expected)).map_err(AuthRefusal::Token);
    }
    // With TLS, the certificate is not valid for a foreign host name.
    if admin.tls.is_none() {
        check_host(&head.headers)?;
    }
    check_origin(&head.headers)?;
    if head.method == Method::POST && !head.headers.contains_key(CONTENT_TYPE) {
        let detail = "without a token, Content-Type: application/json is required";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail).into());
    }
    Ok(())
}

/// Refusal by an exposed listener. Startup and reloads refuse it as well.
fn exposed() -> Problem {
    forbidden("other machines can reach this listener without authentication: set a token")
}

fn check_host(headers: &HeaderMap) -> Result<(), Problem> {
    match single(headers, &HOST) {
        Some(host) if is_address(host) => Ok(()),
        _ => Err(forbidden("without a token, the Host header must be an address or localhost")),
    }
}

fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    if !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let origin = single(headers, &ORIGIN).and_then(|origin| origin.split_once("://"));
    match (origin, single(headers, &HOST)) {
        (Some((_, origin)), Some(host)) if origin.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(forbidden("without a token, requests from other origins are refused")),
    }
}

/// Value of a header that occurs once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// Whether a host, with or without a port, needs no name resolution.
fn is_address(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((address, port)) if port.is_empty() || port.starts_with(':') => address,
            _ => return false,
        },
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

fn forbidden(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_and_localhost_are_hosts() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:8090",
            "[::1]",
            "[::1]:8090",
            "localhost",
            "LocalHost:8090",
            "10.1.2.3:1",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert!(is_address(host), "{host}");
        }
        for host in [
            "",
            ":8090",
            "evil.example",
            "evil.example:8090",
            "localhost.evil.example",
            "127.0.0.1.evil.example:8090",
            "[::1",
            "[::1]evil",
            "[localhost.evil]",
            "127.1",
            "0x7f.1",
            "2130706433",
        ] {
            assert!(!is_address(host), "{host}");
        }
    }

    #[test]
    fn foreign_pages_are_refused() {
        let rows: [(&[(HeaderName, &str)], bool); 9] = [
            (&[(HOST, "127.0.0.1:8090")], true),
            (&[(HOST, "127.0.0.1:8090"), (ORIGIN, "http://127.0.0.1:8090")], true),
            (&[(HOST, "localhost:8090"), (ORIGIN, "http://LOCALHOST:8090")], true),
            (&[(HOST, "127.0.0.1:8090"), (ORIGIN, "http://127.0.0.1:3000")], false),
            (&[(HOST, "127.0.0.1:8090"), (ORIGIN, "https://evil.example")], false),
            (&[(HOST, "127.0.0.1:8090"), (ORIGIN, "null")], false),
            (&[(ORIGIN, "http://127.0.0.1:8090")], false),
            (
                &[
                    (HOST, "127.0.0.1:8090"),
                    (ORIGIN, "http://127.0.0.1:8090"),
                    (ORIGIN, "https://evil.example"),
                ],
                false,
            ),
            (&[(HOST, "127.0.0.1:8090"), (ORIGIN, "")], false),
        ];
        for (fields, passes) in rows {
            let mut headers = HeaderMap::new();
            for (name, value) in fields {
                headers.append(name, value.parse().expect("a value"));
            }
            assert_eq!(check_origin(&headers).is_ok(), passes, "{fields:?}");
        }
    }
}
