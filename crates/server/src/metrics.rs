//! `/metrics`: what can be counted, in the text of OpenMetrics. It is put together when it is asked for, from what there is anyhow.

use hyper::StatusCode;
use hyper::header::HeaderValue;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use slidegate::Clock;
use slidegate::store::redis::Health;

use crate::app::App;
use crate::http::problem::{Reply, reply as replied};
use crate::store::Backend;

const TEXT: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// One label, of which there are few values.
type Label = [(&'static str, String); 1];

pub(crate) fn reply<C: Clock>(app: &App<C>) -> Reply {
    replied(StatusCode::OK, TEXT, text(app))
}

/// The whole text.
pub(crate) fn text<C: Clock>(app: &App<C>) -> String {
    let mut page = Page(Registry::with_prefix("slidegate"));
    page.info("build", "The version of the program", ("version", env!("CARGO_PKG_VERSION")));
    page.gauge("ready", "1 until it was told to end", i64::from(app.is_ready()));
    page.gauge("waiting", "Requests that may be held for their turn", number(app.held()));
    policy(&mut page, app);
    connections(&mut page, app);
    store(&mut page, app.gate().store());
    snapshot(&mut page, app);
    certificates(&mut page, app);
    let mut text = String::new();
    encode(&mut text, &page.0).expect("a string takes everything");
    text
}

fn policy<C: Clock>(page: &mut Page, app: &App<C>) {
    let state = app.reload_state();
    page.info("policy", "The policy file that is in force", ("digest", &state.policy_digest));
    page.gauge("policy_rules", "Rules that are in force", number(app.gate().policy().rules().len()));
    page.gauge(
        "policy_reload_success",
        "1 if the last reload was done: while it is 0, the file and what is in force differ",
        i64::from(state.last_ok),
    );
    page.counters(
        "policy_reloads",
        "Reloads of the policy file",
        "outcome",
        [("done", state.reloads), ("refused", state.failures)],
    );
    page.seconds("policy_loaded_timestamp_seconds", "When the policy was put in force", state.loaded_at_ms);
    let active = app.overrides().iter().filter(|one| one.active).count();
    page.gauge("overrides_active", "Overrides that are in force", number(active));
}

fn connections<C: Clock>(page: &mut Page, app: &App<C>) {
    let stats = app.connection_stats();
    page.gauge("connections_open", "Connections that are open", number(stats.open));
    page.counters(
        "connections",
        "What became of connections",
        "outcome",
        [
            ("accepted", stats.accepted),
            ("turned_away", stats.turned_away),
            ("dropped", stats.dropped),
            ("ended_idle", stats.ended_idle),
            ("ended_slow", stats.ended_slow),
        ],
    );
}

fn store(page: &mut Page, backend: &Backend) {
    match backend {
        Backend::Memory(memory) => {
            let stats = memory.stats();
            page.gauge("memory_keys", "Subjects in memory", number(stats.keys));
            page.gauge("memory_bytes", "Bytes that they take", number(stats.bytes));
            page.gauge("memory_max_bytes", "The most that they may take", number(memory.max_memory()));
            let forgotten = "Subjects with a history that were forgotten to make room";
            page.counter("memory_forgotten_keys", forgotten, stats.forgotten_keys);
            page.counter("memory_forgotten_units", "Units that these had in use", stats.forgotten_units);
            let refused = "Requests that were refused because nothing could be forgotten";
            page.counter("memory_refused_for_room", refused, stats.refused_for_room);
        }
        Backend::Redis(redis) => {
            page.counter("store_failures", "Requests that the store did not answer", redis.failures());
            let servers = redis.store().health().into_iter();
            let open = servers.map(|(server, health)| (server, i64::from(health != Health::Closed)));
            page.gauges(
                "store_breaker_open",
                "1 while a server failed repeatedly and is not asked",
                "server",
                open,
            );
        }
    }
}

fn snapshot<C: Clock>(page: &mut Page, app: &App<C>) {
    let Some(state) = app.snapshot_state() else { return };
    page.counters(
        "snapshots",
        "Snapshots of memory",
        "outcome",
        [("saved", state.saves), ("failed", state.failures)],
    );
    if let Some(at_ms) = state.last_saved_at_ms {
        page.seconds("snapshot_saved_timestamp_seconds", "When the last one was written", at_ms);
    }
}

fn certificates<C: Clock>(page: &mut Page, app: &App<C>) {
    let all = app.tls_state();
    if all.is_empty() {
        return;
    }
    let named = |one: &crate::tls::TlsState| one.setting.to_owned();
    let ends = all.iter().filter_map(|one| Some((named(one), number(one.not_after_ms? / 1_000))));
    page.gauges("certificate_not_after_seconds", "When a listener's certificate expires", "listener", ends);
    let ok = all.iter().map(|one| (named(one), i64::from(one.last_error.is_none())));
    let help = "1 if the last reading of a listener's certificate went well";
    page.gauges("certificate_reload_success", help, "listener", ok);
}

/// A scrape in the making.
struct Page(Registry);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: i64) {
        let gauge: Gauge = Gauge::default();
        gauge.set(value);
        self.0.register(name, help, gauge);
    }

    /// Whole seconds since 1970.
    fn seconds(&mut self, name: &str, help: &str, at_ms: u64) {
        self.gauge(name, help, number(at_ms / 1_000));
    }

    fn gauges(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: impl Iterator<Item = (String, i64)>,
    ) {
        let family: Family<Label, Gauge> = Family::default();
        for (of, value) in values {
            family.get_or_create(&[(label, of)]).set(value);
        }
        self.0.register(name, help, family);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        let counter: Counter = Counter::default();
        counter.inc_by(value);
        self.0.register(name, help, counter);
    }

    fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &'static str,
        values: [(&'static str, u64); N],
    ) {
        let family: Family<Label, Counter> = Family::default();
        for (of, value) in values {
            family.get_or_create(&[(label, of.to_owned())]).inc_by(value);
        }
        self.0.register(name, help, family);
    }

    fn info(&mut self, name: &str, help: &str, (label, value): (&'static str, &str)) {
        self.0.register(name, help, Info::new([(label, value.to_owned())]));
    }
}

/// What is counted in a gauge stays far below.
fn number<N: TryInto<i64>>(value: N) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
