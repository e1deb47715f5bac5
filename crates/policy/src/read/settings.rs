//! Reader of the file as a whole, of the server and of the store.

use super::super::diagnostics::Diagnostics;
use super::super::file::{File, HeaderStyle, Paths, ResetStyle, Sentinel, Server, Spanned, Store, StoreKind};
use super::super::yaml::Node;
use super::Read;
use super::fields::Fields;
use super::scalars::word;
use super::secret::Secret;

impl Read for File {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "a policy", diagnostics)?;
        let version = fields.required::<u64>("version", "version: 1");
        let usual = Self::default();
        let file = Self {
            version,
            server: fields.or("server", usual.server),
            store: fields.or("store", usual.store),
            observe: fields.or("observe", usual.observe),
            paths: fields.or("paths", usual.paths),
            ipv6_prefix: fields.or("ipv6_prefix", usual.ipv6_prefix),
            rules: fields.or("rules", usual.rules),
        };
        fields.done();
        Some(file)
    }
}

impl Read for Paths {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "paths", diagnostics)?;
        let usual = Self::default();
        let paths = Self { ignore_case: fields.or("ignore_case", usual.ignore_case) };
        fields.done();
        Some(paths)
    }
}

impl Read for Server {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "a server", diagnostics)?;
        let usual = Self::default();
        let server = Self {
            http: fields.or("http", usual.http),
            tls: fields.get("tls"),
            grpc: fields.get("grpc"),
            resp: fields.get("resp"),
            admin: fields.get("admin"),
            connections: fields.or("connections", usual.connections),
            shutdown_delay: fields.or("shutdown_delay", usual.shutdown_delay),
            shutdown_timeout: fields.or("shutdown_timeout", usual.shutdown_timeout),
            trusted_proxies: fields.or("trusted_proxies", usual.trusted_proxies),
            attributes: fields.or("attributes", usual.attributes),
            headers: fields.or("headers", usual.headers),
            reset: fields.or("reset", usual.reset),
            retry_jitter: fields.or("retry_jitter", usual.retry_jitter),
            token: fields.get("token").map(Secret::reveal),
            permit_secret: fields.get("permit_secret").map(Secret::reveal),
            ad_hoc_limits: fields.get("ad_hoc_limits"),
            max_wait: fields.or("max_wait", usual.max_wait),
            max_waiting: fields.or("max_waiting", usual.max_waiting),
        };
        fields.done();
        Some(server)
    }
}

impl Read for Store {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "a store", diagnostics)?;
        let usual = Self::default();
        let url = fields.get("url").map(Secret::reveal);
        let nodes = fields.get("nodes").map(nodes).unwrap_or_default();
        let sentinel = fields.get::<Spanned<Sentinel>>("sentinel").map(|Spanned { at, value }| {
            let wrong =
                || Sentinel { nodes: vec![Spanned { at, value: None }], name: Spanned { at, value: None } };
            value.unwrap_or_else(wrong)
        });
        // An invalid `kind` is most likely a misspelt `redis`, if there are settings of Redis.
        let is_shared = url.is_some() || !nodes.is_empty() || sentinel.is_some();
        let kind = match fields.get::<Spanned<StoreKind>>("kind") {
            Some(Spanned { value: None, .. }) if is_shared => StoreKind::Redis,
            kind => kind.and_then(|kind| kind.value).unwrap_or(usual.kind),
        };
        let store = Self {
            at: fields.head(),
            kind,
            max_memory: fields.or("max_memory", usual.max_memory),
            snapshot: fields.get("snapshot"),
            snapshot_interval: fields.or("snapshot_interval", usual.snapshot_interval),
            url,
            nodes,
            sentinel,
            timeout: fields.or("timeout", usual.timeout),
            prefix: fields.get("prefix"),
            deny_cache: fields.or("deny_cache", usual.deny_cache),
            instances: fields.or("instances", usual.instances),
        };
        if store.timeout.0 == 0
            && let Some(entry) = fields.find("timeout")
        {
            diagnostics.report(
                entry.value.at,
                "the timeout must not be 0",
                "write at least 1ms; 50ms is common",
            );
        }
        if store.instances == 0
            && let Some(entry) = fields.find("instances")
        {
            diagnostics.report(
                entry.value.at,
                "`instances` must be at least 1",
                "write the number of nodes that share the store",
            );
        }
        fields.done();
        Some(store)
    }
}

impl Read for Sentinel {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let fields = Fields::of(node, "a sentinel", diagnostics)?;
        let nodes = nodes(fields.required("nodes", "nodes: [redis://10.0.0.1:26379]"));
        let name = fields.required("name", "name: mymaster");
        fields.done();
        Some(Self { nodes, name })
    }
}

/// Nodes of a list. An invalid list is not an empty one.
fn nodes(list: Spanned<Vec<Spanned<Secret>>>) -> Vec<Spanned<String>> {
    let nodes = list.value.unwrap_or_else(|| vec![Spanned { at: list.at, value: None }]);
    nodes.into_iter().map(Secret::reveal).collect()
}

impl Read for StoreKind {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        word(node, &[("memory", Self::Memory), ("redis", Self::Redis)], diagnostics)
    }
}

impl Read for HeaderStyle {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        let words = [
            ("draft", Self::Draft),
            ("legacy", Self::Legacy),
            ("x-ratelimit", Self::XRateLimit),
            ("none", Self::None),
        ];
        word(node, &words, diagnostics)
    }
}

impl Read for ResetStyle {
    fn read(node: &Node, diagnostics: &Diagnostics) -> Option<Self> {
        word(node, &[("delta", Self::Delta), ("epoch", Self::Epoch)], diagnostics)
    }
}
