//! Attributes of a request: the usual ones, and those that the application adds.

use std::borrow::Cow;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use ::http::header::{HOST, HeaderName};
use ::http::request::Parts;
use axum::extract::ConnectInfo;
use axum::extract::connect_info::MockConnectInfo;
use ipnet::IpNet;

use crate::http::{client_address, host_name};
use slidegate_policy::{BuiltIns, Policy, Request};

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

    /// Request for the rules, with these built-in attributes and the address. `ip` is where its
    /// text is stored. Whatever the rules read, an invalid path or host is refused.
    #[inline]
    pub(super) fn request<'a>(
        &'a self,
        policy: &Policy,
        built_ins: BuiltIns,
        parts: &'a Parts,
        ip: &'a mut IpText,
    ) -> Result<Request<'a>, String> {
        let mut request = Request::new();
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
        let host = match parts.uri.host() {
            Some(host) => Some(host),
            None => single_value(parts, &HOST)?,
        };
        let reads_host = |host: &&str| built_ins.host || host.len() > MAX_PLAIN_BYTES;
        if let Some(host) = host.filter(|host| !host.is_empty()).filter(reads_host) {
            request.set("host", host_name(host));
        }
        match (self.peer)(parts) {
            Some(peer) => {
                if let Some(address) = client_address(peer, &parts.headers, &self.trusted_proxies) {
                    request.set("ip", ip.write(address));
                }
            }
            None if policy.reads("ip") => self.log_missing_peer(),
            None => {}
        }
        if let Some(cost) = &self.cost {
            request.set_cost(cost(parts));
        }
        request.check().map_err(|error| error.to_string())?;
        Ok(request)
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

/// Whether all servers surely read a path alike, so that it cannot be refused.
#[inline]
fn is_plain_path(path: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/-_".contains(byte);
    path.len() <= MAX_PLAIN_BYTES && path.iter().all(is_plain) && path.windows(2).all(|pair| pair != b"//")
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

/// Text of an IP address, without an allocation.
pub(super) struct IpText {
    bytes: [u8; MAX_IP_BYTES],
    len: usize,
}

/// Length of the longest text of an address: IPv6 with an embedded IPv4 address.
const MAX_IP_BYTES: usize = 45;

impl IpText {
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX_IP_BYTES], len: 0 };

    fn write(&mut self, address: IpAddr) -> &str {
        match address {
            IpAddr::V4(address) => {
                let mut number = itoa::Buffer::new();
                for (index, octet) in address.octets().into_iter().enumerate() {
                    if index > 0 {
                        self.push(b".");
                    }
                    self.push(number.format(octet).as_bytes());
                }
            }
            IpAddr::V6(address) => {
                let mut rest = &mut self.bytes[..];
                let _ = write!(rest, "{address}");
                self.len = MAX_IP_BYTES - rest.len();
            }
        }
        str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    fn push(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        self.bytes[self.len..end].copy_from_slice(text);
        self.len = end;
    }
}
