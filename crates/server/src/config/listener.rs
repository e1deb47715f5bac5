//! Listeners of the server.

use std::net::{Ipv4Addr, SocketAddr};

use slidegate::policy::Diagnostics;
use slidegate::policy::format::schema::Value;
use slidegate::policy::format::{Checked, Format, Schemas, json};
use slidegate::policy::yaml::{Kind, Node};

use super::{ServerSettings, TlsSettings, Token};

/// Listener of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Listener {
    /// Checks and forward-auth over HTTP.
    Http,
    /// Envoy's rate limit service over gRPC.
    Grpc,
    /// The protocol of Redis.
    Resp,
    /// Operators, over HTTP.
    Admin,
}

impl Listener {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Grpc, Self::Resp, Self::Admin];

    /// Address in the settings, if they have such a listener.
    pub(crate) fn address(self, server: &ServerSettings) -> Option<SocketAddr> {
        match self {
            Self::Http => Some(server.http),
            Self::Grpc => server.grpc.as_ref().map(|grpc| grpc.listen),
            Self::Resp => server.resp.as_ref().map(|resp| resp.listen),
            Self::Admin => server.admin.as_ref().map(|admin| admin.listen),
        }
    }

    /// TLS in the settings, if such a listener has it.
    pub(crate) fn tls(self, server: &ServerSettings) -> Option<&TlsSettings> {
        match self {
            Self::Http => server.tls.as_ref(),
            Self::Grpc => server.grpc.as_ref()?.tls.as_ref(),
            Self::Resp => server.resp.as_ref()?.tls.as_ref(),
            Self::Admin => server.admin.as_ref()?.tls.as_ref(),
        }
    }

    /// Its name in settings, metrics and the log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Grpc => "grpc",
            Self::Resp => "resp",
            Self::Admin => "admin",
        }
    }
}

slidegate::policy::section! {
    /// Long form of a listener.
    pub struct ListenerSettings: "a listener" as "ListenerFields" {
        /// Address.
        listen: SocketAddr => "127.0.0.1:8081";
        /// TLS.
        tls: Option<TlsSettings>;
    }
}

slidegate::policy::section! {
    /// Listener for operators. On an address other than loopback it requires a token or a
    /// `client_ca`.
    pub struct AdminSettings: "admin" as "AdminFields" {
        /// Address.
        listen: SocketAddr => "127.0.0.1:8090";
        /// Token that requests must have in `Authorization: Bearer …`. At least 16 characters.
        token: Option<Checked<Token>>;
        /// TLS.
        tls: Option<TlsSettings>;
    }
}

impl From<SocketAddr> for ListenerSettings {
    fn from(listen: SocketAddr) -> Self {
        Self { listen, tls: None }
    }
}

impl From<SocketAddr> for AdminSettings {
    fn from(listen: SocketAddr) -> Self {
        Self { listen, token: None, tls: None }
    }
}

impl Default for AdminSettings {
    fn default() -> Self {
        SocketAddr::from((Ipv4Addr::LOCALHOST, 8090)).into()
    }
}

/// Listener of a further protocol: an address, or the long form.
pub(super) struct ListenerForm;

impl Format for ListenerForm {
    type Value = ListenerSettings;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<ListenerSettings> {
        short_or_long(node, diagnostics)
    }

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Listener", |schemas| {
            let long = json!({
                "listen": "0.0.0.0:8081",
                "tls": { "certificate": "server.pem", "key": "server.key" },
            });
            json!({
                "description": "Listener of a further protocol: an address, or the long form.",
                "anyOf": [SocketAddr::schema(schemas), ListenerSettings::schema(schemas)],
                "examples": ["127.0.0.1:8081", long],
            })
        })
    }
}

/// Listener for operators: an address, or the long form.
pub(super) struct AdminForm;

impl Format for AdminForm {
    type Value = AdminSettings;

    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<AdminSettings> {
        short_or_long(node, diagnostics)
    }

    fn schema(schemas: &mut Schemas) -> Value {
        schemas.refer("Admin", |schemas| {
            json!({
                "description": "Listener for operators: a loopback address, or the long form.",
                "anyOf": [SocketAddr::schema(schemas), AdminSettings::schema(schemas)],
                "examples": ["127.0.0.1:8090", { "listen": "0.0.0.0:8090", "token": "…" }],
            })
        })
    }
}

/// Settings of a node that is an address, or a mapping.
fn short_or_long<T>(node: &Node, diagnostics: &Diagnostics) -> Option<T>
where
    T: Format<Value = T> + From<SocketAddr>,
{
    match node.kind {
        Kind::Scalar { .. } => SocketAddr::read(node, diagnostics).map(T::from),
        _ => T::read(node, diagnostics),
    }
}
