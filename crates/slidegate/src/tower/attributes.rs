//! Attributes of a request: the usual ones, and those that the application adds.

use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::header::{HOST, HeaderName};
use ::http::request::Parts;
use axum::extract::ConnectInfo;
use axum::extract::connect_info::MockConnectInfo;
use ipnet::IpNet;

use crate::http::{client_address, host_name};
use slidegate_policy::{BuiltIns, Policy, Request, RequestAddress};

/// Function that computes an attribute.
type AttributeFn = dyn for<'a> Fn(&'a Parts) -> Option<Cow<'a, str>> + Send + Sync;
/// Function that computes a cost.
type CostFn = dyn Fn(&Parts) -> u64 + Send + Sync;
/// Function that finds the address of the peer.
type PeerFn = dyn Fn(&Parts) -> Option<IpAddr> + Send + Sync;

/// Source of an attribute.
enum Extractor {
    Header(HeaderName),
    Function(Box<AttributeFn>),
}

/// Attributes of requests, and their cost.
pub(super) struct RequestAttributes {
    added: Vec<(Box<str>, Extractor)>,
    pub(super) cost: Option<Box<CostFn>>,
    pub(super) peer: Box<PeerFn>,
    pub(super) trusted_proxies: Vec<IpNet>,
    /// Whether a missing address of the peer was logged.
    is_missing_peer_logged: AtomicBool,
}

impl Default for RequestAttributes {
    fn default() -> Self {
        Self {
            added: Vec::new(),
            cost: None,
            peer: Box::new(peer_address),
            trusted_proxies: Vec::new(),
            is_missing_peer_logged: AtomicBool::new(false),
        }
    }
}

/// Address of the peer in the extensions of a request: axum's `ConnectInfo<SocketAddr>`, its
/// stand-in for tests, or a `SocketAddr` or `IpAddr` that the application put there.
fn peer_address(parts: &Parts) -> Option<IpAddr> {
    let extensions = &parts.extensions;
    if let Some(ConnectInfo(address)) = extensions.get::<ConnectInfo<SocketAddr>>() {
        return Some(address.ip());
    }
    if let Some(MockConnectInfo(address)) = extensions.get::<MockConnectInfo<SocketAddr>>() {
        return Some(address.ip());
    }
    let address = extensions.get::<SocketAddr>().map(SocketAddr::ip);
    address.or_else(|| extensions.get::<IpAddr>().copied())
}

impl RequestAttributes {
    pub(super) fn add_header(&mut self, name: &str, header: HeaderName) {
        self.added.push((name.into(), Extractor::Header(header)));
    }

    pub(super) fn add_function(&mut self, name: &str, function: Box<AttributeFn>) {
        self.added.push((name.into(), Extractor::Function(function)));
    }

    /// Address of the client, if it is known.
    #[inline]
    pub(super) fn client(&self, policy: &Policy, parts: &Parts) -> Option<IpAddr> {
        let Some(peer) = (self.peer)(parts) else {
            if policy.reads("ip") {
                self.log_missing_peer();
            }
            return None;
        };
        client_address(peer, &parts.headers, &self.trusted_proxies)
    }

    /// Sets the attributes and the cost of a request, with these built-in attributes and the address
    /// of the client. Whatever the rules read, an invalid path or host is refused.
    #[inline]
    pub(super) fn fill<'a>(
        &'a self,
        request: &mut Request<'a>,
        built_ins: BuiltIns,
        parts: &'a Parts,
        address: Option<&'a RequestAddress>,
    ) -> Result<(), String> {
        // First: of two attributes with one name the first counts.
        for (name, source) in &self.added {
            let value = match source {
                Extractor::Header(header) => single_value(parts, header)?.map(Cow::Borrowed),
                Extractor::Function(function) => function(parts),
            };
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                request.set(&**name, value);
            }
        }
        // What no rule reads is set only where it might be refused.
        let method = parts.method.as_str();
        if built_ins.method || method.len() > MAX_PLAIN_BYTES {
            request.set("method", method);
        }
        let path = parts.uri.path();
        if built_ins.path || !is_plain_path(path.as_bytes()) {
            request.set("path", path);
        }
        if let Some(host) = host(parts, built_ins.host)? {
            request.set("host", host_name(host));
        }
        if let Some(cost) = &self.cost {
            request.set_cost(cost(parts));
        }
        let has_others = !request.is_empty();
        if let Some(address) = address {
            request.set_address(address);
        }
        // An address alone is within the bounds.
        if has_others { request.check().map_err(|error| error.to_string()) } else { Ok(()) }
    }

    #[cold]
    fn log_missing_peer(&self) {
        if !self.is_missing_peer_logged.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "requests have no peer address, so rules with the key `ip` apply their `missing`: serve the \
                 router with into_make_service_with_connect_info::<SocketAddr>(), put a SocketAddr into the \
                 request extensions, or set RateLimitLayer::peer_with"
            );
        }
    }
}

/// Length up to which a value is surely valid.
const MAX_PLAIN_BYTES: usize = 256;

/// Host of a request, if it has one, and rules read it or it might be refused.
#[inline]
fn host(parts: &Parts, is_read: bool) -> Result<Option<&str>, String> {
    let host = match parts.uri.authority() {
        // It is no longer than that.
        Some(authority) if !is_read && authority.as_str().len() <= MAX_PLAIN_BYTES => None,
        Some(authority) => Some(authority.host()),
        None => single_value(parts, &HOST)?,
    };
    Ok(host.filter(|host| !host.is_empty() && (is_read || host.len() > MAX_PLAIN_BYTES)))
}

/// Bit of a slash in the kind of a byte.
const SLASH: u8 = 1;
/// Bit of a byte that servers may read differently.
const SPECIAL: u8 = 2;

/// Kinds of the bytes of a path.
static BYTE_KINDS: [u8; 256] = {
    let (mut kinds, mut byte) = ([SPECIAL; 256], 0_usize);
    while byte < 256 {
        match byte as u8 {
            b'/' => kinds[byte] = SLASH,
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => kinds[byte] = 0,
            _ => {}
        }
        byte += 1;
    }
    kinds
};

/// Whether all servers surely read a path alike, so that it cannot be refused.
#[inline]
fn is_plain_path(path: &[u8]) -> bool {
    if path.len() > MAX_PLAIN_BYTES {
        return false;
    }
    // Without a branch for each byte.
    let (mut before, mut found) = (0, 0);
    for byte in path {
        let kind = BYTE_KINDS[usize::from(*byte)];
        // Two slashes in a row are as special as other bytes.
        found |= kind | (kind & before) << 1;
        before = kind;
    }
    found & SPECIAL == 0
}

/// The value of a header. Of two values the service might use the other.
fn single_value<'h>(parts: &'h Parts, name: &HeaderName) -> Result<Option<&'h str>, String> {
    let mut values = parts.headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(format!("the header {name} is given twice"));
    }
    let text = str::from_utf8(value.as_bytes());
    text.map(Some).map_err(|_| format!("the header {name} is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_if_nothing_in_them_is_read_differently() {
        let longest = "/".to_owned() + &"a".repeat(MAX_PLAIN_BYTES - 1);
        for path in ["", "/", "/v1/items/17", "/Some-Thing_else/", longest.as_str()] {
            assert!(is_plain_path(path.as_bytes()), "{path}");
        }
        let too_long = longest + "a";
        for path in ["//", "/a//b", "/a/./b", "/a;x=1", "/%2e", "/a\\b", "/a#b", "/\u{e9}", too_long.as_str()]
        {
            assert!(!is_plain_path(path.as_bytes()), "{path}");
        }
    }
}
