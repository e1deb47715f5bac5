//! Where state is kept, and how that is doing.

use slidegate::store::redis::Health;
use slidegate::{Fallback, Memory, Redis};

#[cfg(test)]
use super::family::Described;
use super::family::{Family, Sink};
use crate::store::Backend;

static KEYS: Family<0> = Family::gauge(
    "memory_keys",
    [],
    "Subjects in memory; over Redis, those by which this node would decide alone",
);
static BYTES: Family<0> = Family::gauge("memory_bytes", [], "Bytes that they take");
static MAX_BYTES: Family<0> = Family::gauge("memory_max_bytes", [], "The most that they may take");
static FORGOTTEN_KEYS: Family<0> = Family::counter(
    "memory_forgotten_keys",
    [],
    "Subjects with a history that were forgotten to make room (evictions)",
);
static FORGOTTEN_UNITS: Family<0> =
    Family::counter("memory_forgotten_units", [], "Units that these had in use");
static REFUSED_FOR_ROOM: Family<0> = Family::counter(
    "memory_refused_for_room",
    [],
    "Requests that were refused because nothing could be forgotten",
);
static FAILURES: Family<0> = Family::counter(
    "store_failures",
    [],
    "Decisions that Redis did not give: what on_store_error says was answered",
);
static ERRORS: Family<1> = Family::counter(
    "store_errors",
    ["kind"],
    "Calls of any sort that failed, by kind: unreachable, lost, timed_out, breaker_open, overloaded, refused, too_many_limits, protocol",
);
static ANSWERS: Family<1> = Family::counter(
    "store_answers",
    ["source"],
    "Decisions by who made them: store, cache (a denial that still held), local (this node's share), assumed (allow or deny)",
);
static DENY_CACHE_HITS: Family<0> = Family::counter(
    "deny_cache_hits",
    [],
    "Requests that were refused by a denial that still held, without asking Redis",
);
static BREAKER_OPEN: Family<1> = Family::gauge(
    "store_breaker_open",
    ["server"],
    "1 while a server failed repeatedly and is not asked, or only by one request that tries it",
);

static REFUSES_WRITES: Family<1> = Family::gauge(
    "store_refuses_writes",
    ["server"],
    "1 while a server answers and refuses to write, as one without memory or a replica does: on_store_error decides",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn Described] = &[
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

pub(super) fn gather(sink: &mut impl Sink, backend: &Backend) {
    match backend {
        Backend::Memory(memory) => gather_memory(sink, memory),
        Backend::Redis(redis) => {
            gather_memory(sink, redis.local());
            gather_redis(sink, redis);
        }
    }
}

fn gather_memory(sink: &mut impl Sink, memory: &Memory) {
    let stats = memory.stats();
    KEYS.put(sink, [], stats.keys);
    BYTES.put(sink, [], stats.bytes);
    MAX_BYTES.put(sink, [], memory.max_memory());
    FORGOTTEN_KEYS.put(sink, [], stats.forgotten_keys);
    FORGOTTEN_UNITS.put(sink, [], stats.forgotten_units);
    REFUSED_FOR_ROOM.put(sink, [], stats.refused_for_room);
}

fn gather_redis(sink: &mut impl Sink, redis: &Fallback<Redis>) {
    FAILURES.put(sink, [], redis.failures());
    for (kind, count) in redis.store().errors() {
        ERRORS.put(sink, [kind.name()], count);
    }
    let answers = redis.answers();
    ANSWERS.put(sink, ["store"], answers.store);
    ANSWERS.put(sink, ["cache"], answers.cache);
    ANSWERS.put(sink, ["local"], answers.local);
    ANSWERS.put(sink, ["assumed"], answers.assumed);
    DENY_CACHE_HITS.put(sink, [], redis.store().repeated_denials());
    let health = redis.store().health();
    for (server, health) in &health {
        BREAKER_OPEN.put(sink, [server], *health != Health::Closed);
    }
    let refusals = redis.store().refusals();
    for (server, _) in &health {
        REFUSES_WRITES.put(sink, [server], refusals.iter().any(|(refusing, _)| refusing == server));
    }
}
