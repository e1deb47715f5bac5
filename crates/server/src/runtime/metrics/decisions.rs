//! Metrics of decisions: by rule, limit and route, by request, and their duration.

use slidegate::Clock;
use slidegate::telemetry::{Latency, Series, SeriesCounts};

use crate::runtime::Runtime;
#[cfg(test)]
use crate::telemetry::metrics::family::MetricDescription;
use crate::telemetry::metrics::family::{Family, HistogramBucket, Sink, Spread};

static REQUESTS: Family<1> = Family::counter(
    "requests",
    ["outcome"],
    "Requests by outcome: allowed, denied, barred (blocked: a deny list, a missing key, or a call that cannot be evaluated), unlimited (no rule applied), looked (peek, cost 0), failed (no decision), replayed (repeated idempotency key)",
);
static WOULD_DENY: Family<0> = Family::counter(
    "requests_would_deny",
    [],
    "Requests that passed although a rule in observe mode would have denied them",
);
static DECISIONS: Family<5> = Family::counter(
    "decisions",
    ["rule", "limit", "route", "mode", "outcome"],
    "Decisions of each limit, enforced or observed: allowed, denied, uncharged (fits, but another limit denied), looked (peek, cost 0); the limit is (deny list) or (missing key) where a rule blocks without a limit",
);
static WITHOUT_KEY: Family<1> = Family::counter(
    "requests_without_key",
    ["rule"],
    "Requests that lack an attribute of a rule's key and share one subject (missing: shared)",
);
static SKIPPED: Family<1> = Family::counter(
    "skipped_descriptors",
    ["rule"],
    "Descriptors of Envoy's rate limit service to which a rule did not apply because they lack an entry of its key",
);
static PATHS_REFUSED: Family<1> = Family::counter(
    "paths_refused",
    ["reason"],
    "Requests refused because of their path: too_many_readings (more than 32 readings, or too long for as many as it has), ambiguous (the subject, or whether a tighter override applies, depends on the reading)",
);
static NEAR_MISSES: Family<4> = Family::counter(
    "near_misses",
    ["rule", "limit", "route", "mode"],
    "Charges that left at most the share observe.near_miss of the quota",
);
static DURATION: Family<0> = Family::histogram(
    "decision_duration_seconds",
    "Duration of decisions; in memory one in 17 is timed, with Redis every one",
);

#[cfg(test)]
pub(super) const FAMILIES: &[&dyn MetricDescription] =
    &[&REQUESTS, &WOULD_DENY, &WITHOUT_KEY, &SKIPPED, &PATHS_REFUSED, &DECISIONS, &NEAR_MISSES, &DURATION];

/// Upper bounds of the buckets, at which counts are exact, and their text in OpenMetrics.
const BOUNDS: [(u64, &str); 23] = [
    (1 << 8, "2.56e-07"),
    (1 << 9, "5.12e-07"),
    (1 << 10, "1.024e-06"),
    (1 << 11, "2.048e-06"),
    (1 << 12, "4.096e-06"),
    (1 << 13, "8.192e-06"),
    (1 << 14, "1.6384e-05"),
    (1 << 15, "3.2768e-05"),
    (1 << 16, "6.5536e-05"),
    (1 << 17, "0.000131072"),
    (1 << 18, "0.000262144"),
    (1 << 19, "0.000524288"),
    (1 << 20, "0.001048576"),
    (1 << 21, "0.002097152"),
    (1 << 22, "0.004194304"),
    (1 << 23, "0.008388608"),
    (1 << 24, "0.016777216"),
    (1 << 25, "0.033554432"),
    (1 << 26, "0.067108864"),
    (1 << 27, "0.134217728"),
    (1 << 28, "0.268435456"),
    (1 << 29, "0.536870912"),
    (1 << 30, "1.073741824"),
];

pub(super) fn gather<C: Clock>(sink: &mut dyn Sink, runtime: &Runtime<C>) {
    for (reason, count) in runtime.decider().path_refusals.counts() {
        PATHS_REFUSED.put(sink, [reason], count);
    }
    let Some(telemetry) = runtime.telemetry() else { return };
    let requests = telemetry.requests();
    REQUESTS.put(sink, ["allowed"], requests.allowed);
    REQUESTS.put(sink, ["denied"], requests.denied);
    REQUESTS.put(sink, ["barred"], requests.blocked);
    REQUESTS.put(sink, ["unlimited"], requests.unlimited);
    REQUESTS.put(sink, ["looked"], requests.peeked);
    REQUESTS.put(sink, ["failed"], requests.failed);
    REQUESTS.put(sink, ["replayed"], requests.replayed);
    WOULD_DENY.put(sink, [], requests.would_deny);
    for one in telemetry.without_key().iter().filter(|one| one.requests > 0) {
        WITHOUT_KEY.put(sink, [&one.rule], one.requests);
    }
    for skips in telemetry.skips() {
        SKIPPED.put(sink, [&skips.rule], skips.requests);
    }
    let lines = telemetry.series();
    for (line, mode, counts) in lines.iter().flat_map(modes) {
        gather_decisions(sink, line, mode, counts);
    }
    for (line, mode, counts) in lines.iter().flat_map(modes) {
        NEAR_MISSES.put(sink, [&line.rule, &line.limit, &line.route, mode], counts.near_misses);
    }
    gather_duration(sink, &telemetry.latency());
}

/// Modes in which a series has counts.
fn modes(line: &Series) -> impl Iterator<Item = (&Series, &'static str, &SeriesCounts)> {
    let both = [(line, "enforced", &line.enforced), (line, "observed", &line.observed)];
    both.into_iter().filter(|(_, _, counts)| **counts != SeriesCounts::default())
}

/// Rare outcomes are omitted while they are 0. The others are present from the first decision, so
/// that their first increase is visible.
fn gather_decisions(sink: &mut dyn Sink, line: &Series, mode: &'static str, counts: &SeriesCounts) {
    let always = [("allowed", counts.allowed), ("denied", counts.denied)];
    let rare = [("uncharged", counts.uncharged), ("looked", counts.peeked)];
    for (outcome, count) in always.into_iter().chain(rare.into_iter().filter(|(_, count)| *count != 0)) {
        DECISIONS.put(sink, [&line.rule, &line.limit, &line.route, mode, outcome], count);
    }
}

fn gather_duration(sink: &mut dyn Sink, latency: &Latency) {
    let count = |(upper_ns, upper)| HistogramBucket { upper_ns, upper, count: latency.cumulative(upper_ns) };
    let spread = Spread { buckets: &BOUNDS.map(count), count: latency.count(), sum_ns: latency.sum_ns() };
    DURATION.put_spread(sink, spread);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_written_as_they_are() {
        for (upper_ns, text) in BOUNDS {
            assert_eq!(text.parse::<f64>(), Ok(upper_ns as f64 / 1e9), "{text}");
        }
        assert!(BOUNDS.is_sorted());
    }
}
