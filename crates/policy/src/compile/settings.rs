//! Checks of the settings of the server, the store and telemetry.

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{MIN_SECRET_CHARS, Observe, Server, Span, Spanned, Store, StoreKind};

/// Help for a token or a permit secret that is too short.
pub(super) const SHORT_SECRET: &str =
    "use at least 16 characters, for example from `openssl rand -base64 32`";

pub(super) fn check_server(server: &Server, diagnostics: &Diagnostics) {
    if let Some(Spanned { at, value: Some(secret) }) = &server.permit_secret
        && secret.chars().count() < MIN_SECRET_CHARS
    {
        let what = "the permit secret is too short: permits could be forged";
        diagnostics.report(*at, what, SHORT_SECRET);
    }
    for (attribute, header) in &server.attributes {
        let Some(name) = &header.value else { continue };
        if attribute.is_empty() {
            diagnostics.report(header.at, "empty attribute name", "write a name, as in `user: X-User`");
        }
        if name.is_empty() || !name.bytes().all(is_header_byte) {
            let help = "use letters, digits and `-`, as in `X-Api-Key`";
            diagnostics.report(header.at, format!("invalid header name `{}`", name.escape_debug()), help);
        }
    }
}

/// A token, as RFC 9110 has it.
fn is_header_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(super) fn check_store(store: &Store, diagnostics: &Diagnostics) {
    let url = store.url.as_ref().map(|url| ("url", url.at));
    let nodes = store.nodes.first().map(|node| ("nodes", node.at));
    let sentinel = store.sentinel.as_ref().map(|sentinel| ("sentinel", sentinel.name.at));
    let given: Vec<(&str, Span)> = [url, nodes, sentinel].into_iter().flatten().collect();
    match (store.kind, &*given) {
        (StoreKind::Redis, []) => {
            let help = "add its address, as in `url: redis://127.0.0.1:6379`, or `nodes` or `sentinel`";
            diagnostics.report(store.at, "missing address of Redis", help);
        }
        (StoreKind::Memory, [(field, at), ..]) => {
            let help = format!("write `kind: redis`, or remove `{field}`");
            diagnostics.report(*at, format!("`{field}` requires `kind: redis`"), help);
        }
        (StoreKind::Redis, [(first, _), (second, at), ..]) => {
            let help = "keep one: `url` for a single server, `nodes` for Cluster, `sentinel` for Sentinel";
            diagnostics.report(*at, format!("`{first}` and `{second}` cannot be combined"), help);
        }
        _ => {}
    }
    check_snapshot(store, diagnostics);
    if let Some(sentinel) = &store.sentinel
        && sentinel.nodes.is_empty()
    {
        let help = "add at least one, as in `nodes: [\"127.0.0.1:26379\"]`";
        diagnostics.report(sentinel.name.at, "empty list of sentinels", help);
    }
}

/// Minimum interval: below it, a large store would be saved all the time.
const MIN_SNAPSHOT_INTERVAL_MS: u64 = 100;

fn check_snapshot(store: &Store, diagnostics: &Diagnostics) {
    if let (Some(path), StoreKind::Redis) = (&store.snapshot, store.kind) {
        let help = "remove `snapshot`: Redis persists state itself";
        diagnostics.report(path.at, "`snapshot` requires `kind: memory`", help);
    }
    if let Spanned { at, value: Some(interval) } = &store.snapshot_interval
        && interval.0 < MIN_SNAPSHOT_INTERVAL_MS
    {
        let what = format!("snapshot interval of {} ms is too short", interval.0);
        diagnostics.report(*at, what, "write at least 100ms; 1min is common");
    }
}

/// Minimum interval of metrics.
const MIN_METRICS_MS: u64 = 1_000;

pub(super) fn check_observe(observe: &Observe, diagnostics: &Diagnostics) {
    let Some(otlp) = &observe.otlp else { return };
    if let Spanned { at, value: Some(endpoint) } = &otlp.endpoint {
        let host = ["http://", "https://"].iter().find_map(|scheme| endpoint.strip_prefix(scheme));
        if !host.is_some_and(|host| {
            host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'[')
        }) {
            let what = format!("invalid collector URL {}", quote(endpoint));
            diagnostics.report(*at, what, "write an HTTP URL, as in `endpoint: http://127.0.0.1:4318`");
        }
    }
    if let Spanned { at, value: Some(every) } = &otlp.metrics_every
        && every.0 < MIN_METRICS_MS
    {
        diagnostics.report(
            *at,
            format!("metrics interval of {} ms is too short", every.0),
            "write at least 1s; 10s is common",
        );
    }
}
