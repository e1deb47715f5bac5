//! What can be wrong with the settings of the service and of the store.

use super::super::diagnostics::Problems;
use super::super::file::{MIN_SECRET_CHARS, Observe, Server, Span, Spot, Store, StoreKind};
use super::super::yaml::quoted;

/// Remedy for a token or a permit secret that is too short.
pub(super) const SHORT_SECRET: &str =
    "use at least 16 characters, such as those of `openssl rand -base64 32`";

pub(super) fn check_server(server: &Server, problems: &Problems) {
    if let Some(Spot { at, value: Some(secret) }) = &server.permit_secret
        && secret.chars().count() < MIN_SECRET_CHARS
    {
        let what = "the permit secret is too short to keep permits from being forged";
        problems.report(*at, what, SHORT_SECRET);
    }
    for (attribute, header) in &server.attributes {
        let Some(name) = &header.value else { continue };
        if attribute.is_empty() {
            problems.report(header.at, "an attribute without a name", "name what the header tells");
        }
        if name.is_empty() || !name.bytes().all(is_header_byte) {
            let remedy = "use letters, digits and dashes, as in `X-Api-Key`";
            problems.report(header.at, format!("`{}` is no name of a header", name.escape_debug()), remedy);
        }
    }
}

/// A token, as RFC 9110 has it.
fn is_header_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

pub(super) fn check_store(store: &Store, problems: &Problems) {
    let url = store.url.as_ref().map(|url| ("url", url.at));
    let nodes = store.nodes.first().map(|node| ("nodes", node.at));
    let sentinel = store.sentinel.as_ref().map(|sentinel| ("sentinel", sentinel.name.at));
    let given: Vec<(&str, Span)> = [url, nodes, sentinel].into_iter().flatten().collect();
    match (store.kind, &*given) {
        (StoreKind::Redis, []) => {
            let remedy = "give its address, as in `url: redis://127.0.0.1:6379`, or `nodes` or `sentinel`";
            problems.report(store.at, "the store is Redis, but it is not said where", remedy);
        }
        (StoreKind::Memory, [(field, at), ..]) => {
            let remedy = format!("write `kind: redis`, or leave `{field}` out");
            problems.report(*at, format!("`{field}` is for Redis, and the store is memory"), remedy);
        }
        (StoreKind::Redis, [(first, _), (second, at), ..]) => {
            let remedy =
                "keep one: `url` for a single server, `nodes` for a Cluster, `sentinel` for Sentinel";
            problems.report(*at, format!("both `{first}` and `{second}` say where the store is"), remedy);
        }
        _ => {}
    }
    check_snapshot(store, problems);
    if let Some(sentinel) = &store.sentinel
        && sentinel.nodes.is_empty()
    {
        let remedy = "list some of them, as in `nodes: [\"127.0.0.1:26379\"]`";
        problems.report(sentinel.name.at, "it is not said where the sentinels are", remedy);
    }
}

/// More often than this a large store would be saved all the time.
const MIN_SNAPSHOT_INTERVAL_MS: u64 = 100;

fn check_snapshot(store: &Store, problems: &Problems) {
    if let (Some(path), StoreKind::Redis) = (&store.snapshot, store.kind) {
        let remedy = "leave `snapshot` out: Redis keeps state by itself";
        problems.report(path.at, "a snapshot is of memory, and the store is Redis", remedy);
    }
    if let Spot { at, value: Some(interval) } = &store.snapshot_interval
        && interval.0 < MIN_SNAPSHOT_INTERVAL_MS
    {
        let what = format!("a snapshot every {} ms", interval.0);
        problems.report(*at, what, "write 100ms or more; 1min is usual");
    }
}

/// More often than this nobody looks at metrics.
const MIN_METRICS_MS: u64 = 1_000;

pub(super) fn check_observe(observe: &Observe, problems: &Problems) {
    let Some(otlp) = &observe.otlp else { return };
    if let Spot { at, value: Some(endpoint) } = &otlp.endpoint {
        let host = ["http://", "https://"].iter().find_map(|scheme| endpoint.strip_prefix(scheme));
        if !host.is_some_and(|host| {
            host.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'[')
        }) {
            let what = format!("{} is not where a collector listens", quoted(endpoint));
            problems.report(*at, what, "write its address, as in `endpoint: http://127.0.0.1:4318`");
        }
    }
    if let Spot { at, value: Some(every) } = &otlp.metrics_every
        && every.0 < MIN_METRICS_MS
    {
        problems.report(*at, format!("metrics every {} ms", every.0), "write 1s or more; 10s is usual");
    }
}
