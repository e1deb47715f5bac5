//! Metrics of connections, authentication, certificates and snapshots.

use slidegate::Clock;

use crate::config::listener::Listener;
use crate::runtime::Runtime;
use crate::telemetry::auth_failures::AuthFailure;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, MetricValue, Sink};

static OPEN: Family<0> = Family::gauge("connections_open", [], "Open connections");
static MAX: Family<1> = Family::gauge(
    "connections_max",
    ["listener"],
    "Maximum number of connections of a listener: as configured, or as the file descriptor limit allows",
);
static CONNECTIONS: Family<1> = Family::counter(
    "connections",
    ["outcome"],
    "Connections by outcome: accepted, turned_away, dropped, ended_idle, ended_slow, ended_for_room, ended_abusive",
);
static TURNS: Family<0> = Family::counter(
    "connection_turns",
    [],
    "Times that a connection used up its share of work and queued for another turn",
);
static NOT_AFTER: Family<1> = Family::gauge(
    "certificate_not_after_timestamp_seconds",
    ["listener"],
    "When a listener's certificate expires",
);
static READ: Family<1> = Family::gauge(
    "certificate_reload_success",
    ["listener"],
    "1 if the last load of a listener's certificate succeeded",
);
static SNAPSHOTS: Family<1> =
    Family::counter("snapshots", ["outcome"], "Snapshots of the memory store by outcome: saved, failed");
static SAVED: Family<0> =
    Family::gauge("snapshot_saved_timestamp_seconds", [], "When the last snapshot was written");
static DUE: Family<0> = Family::gauge(
    "snapshot_due_timestamp_seconds",
    [],
    "When the next snapshot is due: one interval after the last one, or after startup",
);

static AUTH_FAILURES: Family<2> = Family::counter(
    "auth_failures",
    ["listener", "reason"],
    "Requests without a valid token by reason: missing, wrong",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] =
    &[&OPEN, &MAX, &CONNECTIONS, &TURNS, &AUTH_FAILURES, &NOT_AFTER, &READ, &SNAPSHOTS, &SAVED, &DUE];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    let stats = runtime.connection_stats();
    OPEN.put(sink, [], stats.open);
    for listener in Listener::ALL.into_iter().filter(|one| one.address(&runtime.settings().server).is_some())
    {
        MAX.put(sink, [listener.name()], runtime.network().capacity(listener).max);
    }
    CONNECTIONS.put(sink, ["accepted"], stats.accepted);
    CONNECTIONS.put(sink, ["turned_away"], stats.turned_away);
    CONNECTIONS.put(sink, ["dropped"], stats.dropped);
    CONNECTIONS.put(sink, ["ended_idle"], stats.ended_idle);
    CONNECTIONS.put(sink, ["ended_slow"], stats.ended_slow);
    CONNECTIONS.put(sink, ["ended_for_room"], stats.ended_for_room);
    CONNECTIONS.put(sink, ["ended_abusive"], stats.ended_abusive);
    TURNS.put(sink, [], runtime.network().turns.waits());
    for listener in Listener::ALL {
        for (failure, reason) in AuthFailure::ALL {
            let count = runtime.decider().auth_failures.count(listener, failure);
            AUTH_FAILURES.put(sink, [listener.name(), reason], count);
        }
    }
    let certificates = runtime.tls_state();
    for one in &certificates {
        if let Some(at_ms) = one.not_after_ms {
            NOT_AFTER.put(sink, [one.setting], MetricValue::Ms(at_ms));
        }
    }
    for one in &certificates {
        READ.put(sink, [one.setting], one.last_error.is_none());
    }
    let Some(snapshots) = runtime.snapshot_state() else { return };
    SNAPSHOTS.put(sink, ["saved"], snapshots.saves);
    SNAPSHOTS.put(sink, ["failed"], snapshots.failures);
    if let Some(at_ms) = snapshots.last_saved_at_ms {
        SAVED.put(sink, [], MetricValue::Ms(at_ms));
    }
    DUE.put(sink, [], MetricValue::Ms(snapshots.due_at_ms));
}
