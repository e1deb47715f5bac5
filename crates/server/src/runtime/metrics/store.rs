//! Metrics of the store.

use slidegate::store::redis::CircuitState;
use slidegate::{Fallback, Memory, Redis};

use crate::runtime::backend::Backend;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, Sink};

static KEYS: Family<0> =
    Family::gauge("memory_keys", [], "Subjects in memory; with Redis, those of the local fallback");
static BYTES: Family<0> = Family::gauge("memory_bytes", [], "Bytes used by the subjects in memory");
static MAX_BYTES: Family<0> =
    Family::gauge("memory_max_bytes", [], "Bytes that the subjects in memory may use");
static FORGOTTEN_KEYS: Family<0> =
    Family::counter("memory_forgotten_keys", [], "Evictions: subjects with a history dropped to make room");
static FORGOTTEN_UNITS: Family<0> =
    Family::counter("memory_forgotten_units", [], "Units in use by evicted subjects");
static REFUSED_FOR_ROOM: Family<0> = Family::counter(
    "memory_refused_for_room",
    [],
    "Requests denied because memory was full and no subject could be evicted",
);
static FAILURES: Family<0> =
    Family::counter("store_failures", [], "Decisions that Redis failed to make; on_store_error applied");
static ERRORS: Family<1> = Family::counter(
    "store_errors",
    ["kind"],
    "Failed store calls by kind: unreachable, lost, timed_out, breaker_open, overloaded, refused, too_many_limits, protocol",
);
static ANSWERS: Family<1> = Family::counter(
    "store_answers",
    ["source"],
    "Decisions by source: store, cache (deny cache), local (this node's share of the quota), assumed (on_store_error allow or deny)",
);
static DENY_CACHE_HITS: Family<0> =
    Family::counter("deny_cache_hits", [], "Requests denied from the deny cache, without a call to Redis");
static BREAKER_OPEN: Family<1> = Family::gauge(
    "store_breaker_open",
    ["server"],
    "1 while the circuit breaker of a server is open or half-open",
);

static REFUSES_WRITES: Family<1> = Family::gauge(
    "store_refuses_writes",
    ["server"],
    "1 while a server responds but refuses writes (out of memory, a replica); on_store_error applies",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] = &[
    &KEYS,
    &BYTES,
    &MAX_BYTES,
    &FORGOTTEN_KEYS,
    &FORGOTTEN_UNITS,
    &REFUSED_FOR_ROOM,
    &FAILURES,
    &ERRORS,
    &ANSWERS,
    &DENY_CACHE_HITS,
    &BREAKER_OPEN,
    &REFUSES_WRITES,
];

pub(super) fn gather(sink: &mut dyn Sink, backend: &Backend) {
    match backend {
        Backend::Memory(memory) => gather_memory(sink, memory),
        Backend::Redis(redis) => {
            gather_memory(sink, redis.local());
            gather_redis(sink, redis);
        }
    }
}

fn gather_memory(sink: &mut dyn Sink, memory: &Memory) {
    let stats = memory.stats();
    KEYS.put(sink, [], stats.keys);
    BYTES.put(sink, [], stats.bytes);
    MAX_BYTES.put(sink, [], memory.max_memory());
    FORGOTTEN_KEYS.put(sink, [], stats.forgotten_keys);
    FORGOTTEN_UNITS.put(sink, [], stats.forgotten_units);
    REFUSED_FOR_ROOM.put(sink, [], stats.refused_for_room);
}

fn gather_redis(sink: &mut dyn Sink, redis: &Fallback<Redis>) {
    FAILURES.put(sink, [], redis.failures());
    for (kind, count) in redis.store().errors() {
        ERRORS.put(sink, [kind.name()], count);
    }
    let answers = redis.answers();
    ANSWERS.put(sink, ["store"], answers.store);
    ANSWERS.put(sink, ["cache"], answers.cache);
    ANSWERS.put(sink, ["local"], answers.local);
    ANSWERS.put(sink, ["assumed"], answers.assumed);
    DENY_CACHE_HITS.put(sink, [], redis.store().deny_cache_hits());
    let health = redis.store().health();
    for (server, health) in &health {
        BREAKER_OPEN.put(sink, [server], *health != CircuitState::Closed);
    }
    let refusals = redis.store().refusals();
    for (server, _) in &health {
        REFUSES_WRITES.put(sink, [server], refusals.iter().any(|(refusing, _)| refusing == server));
    }
}
