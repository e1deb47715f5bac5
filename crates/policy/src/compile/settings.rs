//! What can be wrong with the settings of the service and of the store.

use super::super::diagnostics::{Diagnostics, quote};
use super::super::file::{MIN_SECRET_CHARS, Observe, Server, Span, Spanned, Store, StoreKind};

/// Remedy for a token or a permit secret that is too short.
pub(super) const SHORT_SECRET: &str =
    "use at least 16 characters, such as those of `openssl rand -base64 32`";

pub(super) fn check_server(server: &Server, diagnostics: &Diagnostics) {
    if let Some(Spanned { at, value: Some(secret) }) = &server.permit_secret
        && secret.chars().count() < MIN_SECRET_CHARS
    {
        let what = "the permit secret is too short to keep permits from being forged";
        diagnostics.report(*at, what, SHORT_SECRET);
    }
    for (attribute, header) in &server.attributes {
        let Some(name) = &header.value else { continue };
        if attribute.is_empty() {
            diagnostics.report(header.at, "an attribute without a name", "name what the header tells");
        }
        if name.is_empty() || !name.bytes().all(is_header_byte) {
            let help = "use letters, digits and dashes, as in `X-Api-Key`";
            diagnostics.report(header.at, format!("`{}` is no name of a header", name.escape_debug()), help);
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
            let help = "give its address, as in `url: redis://127.0.0.1:6379`, or `nodes` or `sentinel`";
            diagnostics.report(store.at, "the store is Redis, but it is not said where", help);
        }
        (StoreKind::Memory, [(field, at), ..]) => {
            let help = format!("write `kind: redis`, or leave `{field}` out");
            diagnostics.report(*at, format!("`{field}` is for Redis, and the store is memory"), help);
        }
        (StoreKind::Redis, [(first, _), (second, at), ..]) => {
            let help = "keep one: `url` for a single server, `nodes` for a Cluster, `sentinel` for Sentinel";
            diagnostics.report(*at, format!("both `{first}` and `{second}` say where the store is"), help);
        }
        _ => {}
    }
    check_snapshot(store, diagnostics);
    if let Some(sentinel) = &store.sentinel
        && sentinel.nodes.is_empty()
    {
        let help = "list some of them, as in `nodes: [\"127.0.0.1:26379\"]`";
        diagnostics.report(sentinel.name.at, "it is not said where the sentinels are", help);
    }
}

/// More often than this a large store would be saved all the time.
const MIN_SNAPSHOT_INTERVAL_MS: u64 = 100;

fn check_snapshot(store: &Store, diagnostics: &Diagnostics) {
    if let (Some(path), StoreKind::Redis) = (&store.snapshot, store.kind) {
        let help = "leave `snapshot` out: Redis keeps state by itself";
        diagnostics.report(path.at, "a snapshot is of memory, and the store is Redis", help);
    }
    if let Spanned { at, value: Some(interval) } = &store.snapshot_interval
        && interval.0 < MIN_SNAPSHOT_INTERVAL_MS
    {
        let what = format!("a snapshot every {} ms", interval.0);
        diagnostics.report(*at, what, "write 100ms or more; 1min is usual");
    }
}

/// More often than this nobody looks at metrics.
const MIN_METRICS_MS: u64 = 1_000;

pub(super) fn check_observe(observe: &Observe, diagnostics: &Diagnostics) {
    let Some(otlp) = &observe.otlp else { return };
    if let Spanned { at, value: Some(endpoint) } = &otlp.endpoint {
        let host = ["http://", "https://"].iter().find_map(|scheme| endpoint.strip_prefix(scheme));
        if !host.is_some_and(|host| {
            host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'[')
        }) {
            let what = format!("{} is not where a collector listens", quote(endpoint));
            diagnostics.report(*at, what, "write its address, as in `endpoint: http://127.0.0.1:4318`");
        }
    }
    if let Spanned { at, value: Some(every) } = &otlp.metrics_every
        && every.0 < MIN_METRICS_MS
    {
        diagnostics.report(*at, format!("metrics every {} ms", every.0), "write 1s or more; 10s is usual");
    }
}
