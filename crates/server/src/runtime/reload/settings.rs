//! Difference between settings: which take effect at once, and which after a restart.

use slidegate::policy::Settings;
use slidegate::policy::file::{
    Admin, Connections, ListenerSettings, Observe, Otlp, Sentinel, Server, Spanned, Store, Tls,
};

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
        ("server.token", some(&old.token) != some(&new.token)),
        ("server.trusted_proxies", each(&old.trusted_proxies) != each(&new.trusted_proxies)),
        ("server.attributes", attributes(old) != attributes(new)),
        ("server.headers", old.headers != new.headers),
        ("server.reset", old.reset != new.reset),
        ("server.retry_jitter", old.retry_jitter != new.retry_jitter),
        ("server.ad_hoc_limits", old.ad_hoc_limits != new.ad_hoc_limits),
        ("server.max_wait", old.max_wait != new.max_wait),
        ("server.connections", !same_connections(&old.connections, &new.connections)),
        ("server.shutdown_delay", old.shutdown_delay != new.shutdown_delay),
        ("server.shutdown_timeout", old.shutdown_timeout != new.shutdown_timeout),
        ("observe.near_miss", now.observe.near_miss != file.observe.near_miss),
        ("observe.subjects", now.observe.subjects != file.observe.subjects),
        ("observe.denial_log", now.observe.denial_log != file.observe.denial_log),
        ("server.admin.token", same_admin_listener(old, new) && admin_token(old) != admin_token(new)),
    ];
    let at_next_start = [
        ("server.http", old.http.value != new.http.value),
        ("server.tls", !same_tls(old.tls.as_ref(), new.tls.as_ref())),
        ("server.grpc", !same_entrance(old.grpc.as_ref(), new.grpc.as_ref())),
        ("server.resp", !same_entrance(old.resp.as_ref(), new.resp.as_ref())),
        ("server.admin", !same_admin_listener(old, new)),
        ("server.permit_secret", some(&old.permit_secret) != some(&new.permit_secret)),
        ("server.max_waiting", old.max_waiting != new.max_waiting),
        ("store", !same_store(&now.store, &file.store)),
        ("observe.enabled", now.observe.enabled != file.observe.enabled),
        ("observe.otlp", !same_otlp(now.observe.otlp.as_ref(), file.observe.otlp.as_ref())),
    ];
    let named = |all: &[(&'static str, bool)]| all.iter().copied().filter_map(is_new).collect();
    SettingsDiff { live: named(&live), at_next_start: named(&at_next_start) }
}

/// The settings of a file, with what cannot change as it is now.
pub(super) fn pinned(now: &Settings, file: Settings) -> Settings {
    let Settings { server, store, observe, .. } = now.clone();
    // A token goes with its address: that of a door which others can reach must not be lost to one that only is in the file.
    let admin = if same_admin_listener(&server, &file.server) { file.server.admin } else { server.admin };
    let Server { http, tls, grpc, resp, permit_secret, max_waiting, .. } = server;
    let server = Server { http, tls, grpc, resp, admin, permit_secret, max_waiting, ..file.server };
    let Observe { enabled, otlp, .. } = observe;
    let observe = Observe { enabled, otlp, ..file.observe };
    Settings { server, store, observe, ..file }
}

fn same_otlp(old: Option<&Otlp>, new: Option<&Otlp>) -> bool {
    let all = |otlp: &Otlp| (otlp.endpoint.value.clone(), otlp.traces, otlp.metrics_every.value);
    old.map(all) == new.map(all)
}

fn some<T>(spot: &Option<Spanned<T>>) -> Option<&T> {
    spot.as_ref().and_then(|spot| spot.value.as_ref())
}

fn each<T>(spots: &[Spanned<T>]) -> Vec<Option<&T>> {
    spots.iter().map(|spot| spot.value.as_ref()).collect()
}

fn attributes(server: &Server) -> Vec<(&String, Option<&String>)> {
    server.attributes.iter().map(|(name, header)| (name, header.value.as_ref())).collect()
}

fn admin_token(server: &Server) -> Option<&String> {
    server.admin.as_ref().and_then(|admin| some(&admin.token))
}

/// Whether operators come in at the same address in the same way.
fn same_admin_listener(old: &Server, new: &Server) -> bool {
    let door = |admin: &'_ Admin| admin.listen.value;
    let tls = |server: &'_ Server| server.admin.as_ref().and_then(|admin| admin.tls.clone());
    old.admin.as_ref().map(door) == new.admin.as_ref().map(door)
        && same_tls(tls(old).as_ref(), tls(new).as_ref())
}

fn same_entrance(old: Option<&ListenerSettings>, new: Option<&ListenerSettings>) -> bool {
    let tls = |entrance: Option<&ListenerSettings>| entrance.and_then(|entrance| entrance.tls.clone());
    old.map(|old| old.listen.value) == new.map(|new| new.listen.value)
        && same_tls(tls(old).as_ref(), tls(new).as_ref())
}

fn same_tls(old: Option<&Tls>, new: Option<&Tls>) -> bool {
    let paths =
        |tls: &Tls| (tls.certificate.value.clone(), tls.key.value.clone(), some(&tls.client_ca).cloned());
    old.map(paths) == new.map(paths)
}

fn same_connections(old: &Connections, new: &Connections) -> bool {
    let counts = |of: &Connections| (of.max.value, of.max_per_address.value, of.max_requests);
    let times = |of: &Connections| {
        [&of.head_timeout, &of.body_timeout, &of.write_timeout, &of.idle_timeout].map(|time| time.value)
    };
    let sizes = |of: &Connections| [&of.max_head, &of.max_body].map(|size| size.value);
    counts(old) == counts(new) && times(old) == times(new) && sizes(old) == sizes(new)
}

fn same_store(old: &Store, new: &Store) -> bool {
    let texts = |spots: &[Spanned<String>]| spots.iter().map(|spot| spot.value.clone()).collect::<Vec<_>>();
    let place = |of: &Store| (some(&of.url).cloned(), texts(&of.nodes));
    let sentinel = |of: &Sentinel| (texts(&of.nodes), of.name.value.clone());
    let place = |of: &Store| (place(of), of.sentinel.as_ref().map(sentinel));
    let bounds = |of: &Store| (of.kind, of.max_memory, of.timeout, of.deny_cache, of.instances);
    let names =
        |of: &Store| (some(&of.prefix).cloned(), some(&of.snapshot).cloned(), of.snapshot_interval.value);
    place(old) == place(new) && bounds(old) == bounds(new) && names(old) == names(new)
}
