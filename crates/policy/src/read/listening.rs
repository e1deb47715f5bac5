//! Reader of listeners: addresses, certificates, bounds of connections.

use super::super::diagnostics::Diagnostics;
use super::super::file::{Admin, Connections, ListenerSettings, Spanned, Tls};
use super::super::yaml::{Kind, Node};
use super::Read;
use super::fields::Fields;
use super::secret::Secret;

impl Read for Tls {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "tls", diagnostics)?;
        let tls = Self {
            certificate: fields.required("certificate", "certificate: server.pem"),
            key: fields.required("key", "key: server.key"),
            client_ca: fields.get("client_ca"),
        };
        fields.done();
        Some(tls)
    }
}

impl Read for Admin {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        if let Kind::Scalar { .. } = node.kind {
            return Some(Self { listen: Spanned::read(node, diagnostics)?, ..Self::default() });
        }
        let fields = Fields::of(node, "admin", diagnostics)?;
        let admin = Self {
            listen: fields.required("listen", "listen: 127.0.0.1:8090"),
            token: fields.get("token").map(Secret::reveal),
            tls: fields.get("tls"),
        };
        fields.done();
        Some(admin)
    }
}

impl Read for ListenerSettings {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        if let Kind::Scalar { .. } = node.kind {
            return Some(Self { listen: Spanned::read(node, diagnostics)?, tls: None });
        }
        let fields = Fields::of(node, "a listener", diagnostics)?;
        let entrance =
            Self { listen: fields.required("listen", "listen: 127.0.0.1:8081"), tls: fields.get("tls") };
        fields.done();
        Some(entrance)
    }
}

impl Read for Connections {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "connections", diagnostics)?;
        let usual = Self::default();
        let connections = Self {
            max: fields.or("max", usual.max),
            max_per_address: fields.or("max_per_address", usual.max_per_address),
            head_timeout: fields.or("head_timeout", usual.head_timeout),
            body_timeout: fields.or("body_timeout", usual.body_timeout),
            write_timeout: fields.or("write_timeout", usual.write_timeout),
            idle_timeout: fields.or("idle_timeout", usual.idle_timeout),
            max_requests: fields.or("max_requests", usual.max_requests),
            max_head: fields.or("max_head", usual.max_head),
            max_body: fields.or("max_body", usual.max_body),
        };
        fields.done();
        Some(connections)
    }
}
