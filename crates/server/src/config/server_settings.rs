//! Settings of the server: listeners and responses.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::header::HeaderName;
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use slidegate::headers::{Headers, Reset, Style};
use slidegate::policy::Diagnostics;
use slidegate::policy::file::{Percent, Span};
use slidegate::policy::format::schema::Value;
use slidegate::policy::format::{Checked, Fields, Format, Schemas, expected, json, peek};
use slidegate::policy::yaml::{Entry, Kind, Node};

use super::TlsSettings;
use super::connection_limits::ConnectionLimits;
use super::error::ConfigError;
use super::exposure::{self, is_local};
use super::listener::{AdminForm, Listener, ListenerForm};
use super::token::{PermitSecret, Token};

slidegate::policy::section! {
    /// Settings of the server: listeners and responses.
    pub struct ServerSettings: "a server" as "Server" {
        /// Address of the HTTP listener.
        http: SocketAddr = "127.0.0.1:8080";
        /// TLS of the HTTP listener.
        tls: Option<TlsSettings>;
        /// gRPC listener with the rate limit service of Envoy. Default: off.
        grpc: Option<ListenerForm>;
        /// Listener for the Redis protocol. Default: off.
        resp: Option<ListenerForm>;
        /// Listener for operators: health, metrics, keys, overrides, reload. Default: off.
        admin: Option<AdminForm>;
        /// Bounds of connections.
        connections: ConnectionLimits;
        /// Time between the signal to stop, when the server reports that it is not ready, and the
        /// end of accepting requests, so that load balancers can react.
        shutdown_delay: Duration = "0";
        /// Maximum time that requests in progress may take after that.
        shutdown_timeout: Duration = "10s";
        /// Proxies whose forwarding headers are trusted for the address of the client.
        trusted_proxies: Vec<IpNet> = ["127.0.0.0/8", "::1/128"];
        /// For forward-auth: attributes and the request headers that they are read from.
        attributes: AttributeHeaders, { "examples": [{ "org": "X-Org" }] };
        /// Rate limit headers of responses.
        headers: HeaderStyle = "draft";
        /// Format of `X-RateLimit-Reset`.
        reset: ResetStyle = "delta";
        /// Jitter added to `Retry-After`, so that clients do not all retry at once.
        retry_jitter: Percent = "0%";
        /// Token that requests must have in `Authorization: Bearer …`, and clients of `resp` in
        /// `AUTH`. At least 16 characters.
        token: Option<Checked<Token>>;
        /// Secret that signs permits: at least 16 characters, the same on all nodes. Default: a
        /// random one, so that permits end with the process.
        permit_secret: Option<Checked<PermitSecret>>;
        /// Whether requests may contain limits (`/v1/limit`, `SG.LIMIT`, `CL.THROTTLE`, limits in
        /// descriptors of gRPC and `/json`). Default: only on loopback addresses.
        ad_hoc_limits: Option<bool>;
        /// Maximum time that a request may wait.
        max_wait: Duration = "30s";
        /// Maximum number of waiting requests.
        max_waiting: u32 = 10_000;
    }
    then check;
}

impl ServerSettings {
    /// Checks what flags may have changed, and what no file of a server may have.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.attributes.iter().any(|(attribute, _)| &**attribute == "ip") {
            return Err(ConfigError::AddressFromHeader);
        }
        exposure::check_settings(self)
    }

    /// Headers of responses.
    pub(crate) fn response_headers(&self) -> Headers {
        let reset = match self.reset {
            ResetStyle::Delta => Reset::Delta,
            ResetStyle::Epoch => Reset::Epoch,
        };
        let style = match self.headers {
            HeaderStyle::Draft => Style::Draft,
            HeaderStyle::Legacy => Style::Legacy,
            HeaderStyle::XRateLimit => Style::XRateLimit(reset),
            HeaderStyle::None => Style::None,
        };
        Headers { style, retry_jitter: self.retry_jitter.0 }
    }

    /// Whether requests to a listener may contain limits.
    pub(crate) fn allows_ad_hoc_limits(&self, listener: Listener) -> bool {
        self.ad_hoc_limits.unwrap_or_else(|| listener.address(self).is_some_and(is_local))
    }

    /// Key that signs permits.
    pub(crate) fn permit_key(&self) -> Option<[u8; 32]> {
        self.permit_secret.as_ref().map(|secret| Sha256::digest(secret.as_bytes()).into())
    }
}

slidegate::policy::keywords! {
    /// Rate limit headers of responses. `Retry-After` is always present.
    pub enum HeaderStyle {
        Draft = "draft": "`RateLimit-Policy` and `RateLimit`, as in the IETF draft.",
        Legacy = "legacy": "`RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`.",
        XRateLimit = "x-ratelimit": "`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.",
        None = "none": "No headers.",
    }
}

slidegate::policy::keywords! {
    /// Format of `X-RateLimit-Reset`.
    pub enum ResetStyle {
        Delta = "delta": "Seconds from now.",
        Epoch = "epoch": "Unix time in seconds.",
    }
}

/// Attributes, and the headers that they are read from.
struct AttributeHeaders;

impl Format for AttributeHeaders {
    type Value = Vec<(Box<str>, HeaderName)>;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self::Value> {
        let Kind::Mapping(entries) = &node.kind else {
            expected(node, "a mapping", "write `name: value`", diagnostics);
            return None;
        };
        let mut attributes: Self::Value =
            entries.iter().filter_map(|entry| attribute_header(entry, diagnostics)).collect();
        attributes.sort_by(|one, other| one.0.cmp(&other.0));
        Some(attributes)
    }

    fn schema(_: &mut Schemas) -> Value {
        json!({ "type": "object", "additionalProperties": { "type": "string" } })
    }
}

fn attribute_header(
    Entry { key, value, .. }: &Entry,
    diagnostics: &Diagnostics,
) -> Option<(Box<str>, HeaderName)> {
    let header = String::read(value, diagnostics)?;
    if key.is_empty() {
        diagnostics.report(value.at, "empty attribute name", "write a name, as in `user: X-User`");
    }
    let name = HeaderName::from_bytes(header.as_bytes());
    if name.is_err() {
        let help = "use letters, digits and `-`, as in `X-Api-Key`";
        diagnostics.report(value.at, format!("invalid header name `{}`", header.escape_debug()), help);
    }
    Some((key.as_str().into(), name.ok()?))
}

/// Checks the listeners together.
fn check(server: &mut ServerSettings, fields: &Fields<'_>) {
    if let (Some((at, listen)), Some(admin)) = (address(Listener::Admin, fields), fields.find("admin")) {
        let has_client_ca = admin.value.get("tls").is_some_and(|tls| tls.value.get("client_ca").is_some());
        // A token that is too short was reported.
        if admin.value.get("token").is_none() && !has_client_ca && !is_local(listen) {
            let what = format!(
                "the admin listener on {} is reachable from other machines without authentication",
                listen.ip()
            );
            let help = "listen on 127.0.0.1, or add a `token`, or `tls` with a `client_ca`";
            fields.report(at, what, help);
        }
    }
    let mut used: Vec<(&str, SocketAddr)> = Vec::new();
    for listener in Listener::ALL {
        let default = || {
            (listener == Listener::Http && fields.find("http").is_none())
                .then_some((Span::default(), server.http))
        };
        let Some((at, listen)) = address(listener, fields).or_else(default) else { continue };
        if listen.port() == 0 {
            continue;
        }
        if let Some((other, _)) = used.iter().find(|(_, address)| *address == listen) {
            fields.report(at, format!("{listen} is already used by `{other}`"), "use another port");
        }
        used.push((listener.name(), listen));
    }
}

/// Address of a listener in the file, if it is valid.
fn address(listener: Listener, fields: &Fields<'_>) -> Option<(Span, SocketAddr)> {
    let node = &fields.find(listener.name())?.value;
    let node = node.get("listen").map_or(node, |listen| &listen.value);
    Some((node.at, peek::<SocketAddr>(node)?))
}
