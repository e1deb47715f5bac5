//! Frames of the event stream: one line of JSON per event.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use slidegate::Clock;
use slidegate::telemetry::{KeylessRequests, Series, SeriesCounts, Subjects};

use super::history::{SampleHistory, denied};
use super::sample::Sample;
use super::top::{self, TopKind};
use crate::admin::status;
use crate::runtime::Runtime;

/// Reconnection time of browsers.
const RETRY: &str = "retry: 2000\n";
/// Maximum number of series, and of rules without keys, in a frame.
const MAX_LINES: usize = 100;

/// First event of a stream.
pub(super) fn hello<C: Clock>(runtime: &Runtime<C>, history: &SampleHistory) -> Bytes {
    let hello = json!({
        "service": "slidegate",
        "version": env!("CARGO_PKG_VERSION"),
        "at_ms": runtime.gate().now_ms(),
        "policy": { "digest": runtime.reload_state().policy_digest },
        "history": history.points(),
    });
    event(RETRY, "hello", &hello)
}

/// Event of every second. Without telemetry the counts are `null`.
pub(super) fn frame<C: Clock>(
    runtime: &Runtime<C>,
    history: &SampleHistory,
    sample: Option<&Sample>,
    uptime: Duration,
) -> Bytes {
    let at_ms = runtime.gate().now_ms();
    let (lines, left_out) =
        sample.map_or_else(Default::default, |sample| busiest_series(&sample.series, history));
    let settings = runtime.telemetry().map(|telemetry| telemetry.settings());
    let list = |kind| Some(top::list(runtime.telemetry()?, kind, top::DEFAULT_ENTRIES, at_ms));
    let reload = runtime.reload_state();
    let frame = json!({
        "at_ms": at_ms,
        "uptime_ms": u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        "ready": runtime.is_ready(),
        // A reload may change these two.
        "subjects": settings.as_ref().map(|settings| match settings.subjects {
            Subjects::Plain => "plain",
            Subjects::Hashed => "hashed",
        }),
        "near_miss_percent": settings.as_ref().map(|settings| f64::from(settings.near_miss.0) / 100.0),
        "totals": sample.map(|sample| sample.totals),
        "latency_us": sample.and_then(|sample| history.latency_us(&sample.latency)),
        "lines": lines,
        "lines_left_out": left_out,
        "without_key": runtime.telemetry().map_or_else(Vec::new, |telemetry| keyless(telemetry.without_key())),
        "denied": list(TopKind::Denied),
        "near": list(TopKind::Near),
        "store": status::store(runtime.gate().store()),
        "policy": {
            "digest": reload.policy_digest,
            "loaded_at_ms": reload.loaded_at_ms,
            "last_ok": reload.last_ok,
            "last_error": reload.last_error,
            "rules": runtime.gate().policy().rules().len(),
        },
        "overrides": { "active": runtime.overrides().iter().filter(|one| one.active).count() },
        "viewers": runtime.viewers.load(Ordering::Relaxed),
    });
    event("", "frame", &frame)
}

/// Series with the most denials, recent ones first, and the number of series left out. Series
/// without counts are omitted. Equal ones are in the order of the policy.
fn busiest_series(series: &[Series], history: &SampleHistory) -> (Vec<Value>, usize) {
    let mut ranked: Vec<(u64, &Series)> = history.recent_denials(series).into_iter().zip(series).collect();
    ranked.retain(|(_, one)| [one.enforced, one.observed] != [SeriesCounts::default(); 2]);
    ranked.sort_by_key(|(recent, one)| Reverse((*recent, denied(one))));
    let left_out = ranked.len().saturating_sub(MAX_LINES);
    let lines = ranked.iter().take(MAX_LINES).map(|(_, one)| {
        json!({
            "rule": &*one.rule,
            "limit": &*one.limit,
            "route": &*one.route,
            "enforced": counts(one.enforced),
            "observed": counts(one.observed),
        })
    });
    (lines.collect(), left_out)
}

fn counts(counts: SeriesCounts) -> Value {
    let SeriesCounts { allowed, denied, uncharged, peeked, near_misses, .. } = counts;
    json!({
        "allowed": allowed,
        "denied": denied,
        "uncharged": uncharged,
        "looked": peeked,
        "near_misses": near_misses,
    })
}

/// Rules with the most requests that lack an attribute of their key and share one subject.
fn keyless(mut rules: Vec<KeylessRequests>) -> Vec<Value> {
    rules.retain(|one| one.requests > 0);
    rules.sort_by_key(|one| Reverse(one.requests));
    rules.truncate(MAX_LINES);
    let lines =
        rules.iter().map(|one| json!({ "rule": &*one.rule, "key": &*one.key, "requests": one.requests }));
    lines.collect()
}

/// Event as text. JSON on one line has no line breaks.
fn event(before: &str, name: &str, data: &Value) -> Bytes {
    format!("{before}event: {name}\ndata: {data}\n\n").into()
}
