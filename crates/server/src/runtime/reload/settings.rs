//! Difference between settings: which take effect at once, and which after a restart.

use crate::config::{AdminSettings, ConnectionLimits, ObserveSettings, ServerSettings, Settings, Token};

/// The names of settings that differ.
pub(super) struct SettingsDiff {
    /// Those that change at once.
    pub(super) live: Vec<&'static str>,
    /// Those that wait for the next start.
    pub(super) at_next_start: Vec<&'static str>,
}

/// Difference between the settings in force and those of a file. Without values: some are secret.
pub(super) fn diff(now: &Settings, file: &Settings) -> SettingsDiff {
    let (old, new) = (&now.server, &file.server);
    let is_new = |(name, differs): (&'static str, bool)| differs.then_some(name);
    let live = [
        ("server.token", old.token != new.token),
        ("server.trusted_proxies", old.trusted_proxies != new.trusted_proxies),
        ("server.attributes", old.attributes != new.attributes),
        ("server.headers", old.headers != new.headers),
        ("server.reset", old.reset != new.reset),
        ("server.retry_jitter", old.retry_jitter != new.retry_jitter),
        ("server.ad_hoc_limits", old.ad_hoc_limits != new.ad_hoc_limits),
        ("server.max_wait", old.max_wait != new.max_wait),
        ("server.connections", limits(old) != limits(new)),
        ("server.shutdown_delay", old.shutdown_delay != new.shutdown_delay),
        ("server.shutdown_timeout", old.shutdown_timeout != new.shutdown_timeout),
        ("observe.near_miss", now.observe.near_miss != file.observe.near_miss),
        ("observe.subjects", now.observe.subjects != file.observe.subjects),
        ("observe.denial_log", now.observe.denial_log != file.observe.denial_log),
        ("server.admin.token", same_admin_listener(old, new) && admin_token(old) != admin_token(new)),
    ];
    let at_next_start = [
        ("server.http", old.http != new.http),
        ("server.tls", old.tls != new.tls),
        ("server.grpc", old.grpc != new.grpc),
        ("server.resp", old.resp != new.resp),
        ("server.admin", !same_admin_listener(old, new)),
        ("server.permit_secret", old.permit_secret != new.permit_secret),
        ("server.max_waiting", old.max_waiting != new.max_waiting),
        ("store", now.store != file.store),
        ("observe.enabled", now.observe.enabled != file.observe.enabled),
        ("observe.otlp", now.observe.otlp != file.observe.otlp),
    ];
    let named = |all: &[(&'static str, bool)]| all.iter().copied().filter_map(is_new).collect();
    SettingsDiff { live: named(&live), at_next_start: named(&at_next_start) }
}

/// The settings of a file, with what cannot change as it is now.
pub(super) fn pinned(now: &Settings, file: Settings) -> Settings {
    let Settings { server, store, observe, .. } = now.clone();
    // A token goes with its address: the listener in use must not lose its token to one that is
    // only in the file.
    let admin = if same_admin_listener(&server, &file.server) { file.server.admin } else { server.admin };
    let ServerSettings { http, tls, grpc, resp, permit_secret, max_waiting, .. } = server;
    let server = ServerSettings { http, tls, grpc, resp, admin, permit_secret, max_waiting, ..file.server };
    let ObserveSettings { enabled, otlp, .. } = observe;
    let observe = ObserveSettings { enabled, otlp, ..file.observe };
    Settings { server, store, observe }
}

/// Limits of connections, whether or not the file has `max`. The prefix is one of the policy.
fn limits(server: &ServerSettings) -> ConnectionLimits {
    ConnectionLimits { has_max: false, ipv6_prefix: 64, ..server.connections.clone() }
}

fn admin_token(server: &ServerSettings) -> Option<&Token> {
    server.admin.as_ref().and_then(|admin| admin.token.as_ref())
}

/// Whether the admin listener has the same address and the same TLS.
fn same_admin_listener(old: &ServerSettings, new: &ServerSettings) -> bool {
    let listener = |admin: &AdminSettings| (admin.listen, admin.tls.clone());
    old.admin.as_ref().map(listener) == new.admin.as_ref().map(listener)
}
