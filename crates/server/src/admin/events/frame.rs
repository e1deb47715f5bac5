//! Frames of the event stream: one line of JSON per event.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use slidegate::Clock;
use slidegate::telemetry::{KeylessRequests, Series, SeriesCounts, Subjects};

use super::history::{History, Moment, refused};
use super::quantiles::Quantiles;
use super::sample::{Sample, Totals};
use super::top;
use super::top::{Listed, Which};
use crate::admin::status;
use crate::runtime::Runtime;

/// Reconnection time of browsers.
const RETRY: &str = "retry: 2000\n";
/// The most lines of a frame.
const MAX_LINES: usize = 100;

#[derive(Serialize)]
struct Hello<'a> {
    service: &'static str,
    version: &'static str,
    at_ms: u64,
    policy: Value,
    history: &'a VecDeque<Moment>,
}

#[derive(Serialize)]
struct Frame<'a> {
    at_ms: u64,
    uptime_ms: u64,
    ready: bool,
    /// These two may be changed by a reload.
    subjects: Option<&'static str>,
    near_miss_percent: Option<f64>,
    totals: Option<Totals>,
    latency_us: Option<Quantiles>,
    lines: Vec<LineCounts<'a>>,
    lines_left_out: usize,
    without_key: Vec<Keyless>,
    denied: Option<Listed>,
    near: Option<Listed>,
    store: Value,
    policy: Value,
    overrides: Value,
    viewers: usize,
}

#[derive(Serialize)]
struct LineCounts<'a> {
    rule: &'a str,
    limit: &'a str,
    route: &'a str,
    enforced: Counted,
    observed: Counted,
}

/// Requests that lack an attribute of a rule's key and share one subject.
#[derive(Serialize)]
struct Keyless {
    rule: Box<str>,
    key: Box<str>,
    requests: u64,
}

#[derive(Serialize)]
struct Counted {
    allowed: u64,
    denied: u64,
    uncharged: u64,
    looked: u64,
    near_misses: u64,
}

/// First event of a stream.
pub(super) fn hello<C: Clock>(runtime: &Runtime<C>, history: &History) -> Bytes {
    let digest = runtime.reload_state().policy_digest;
    let hello = Hello {
        service: "slidegate",
        version: env!("CARGO_PKG_VERSION"),
        at_ms: runtime.gate().now_ms(),
        policy: json!({ "digest": non_empty(&digest) }),
        history: history.history(),
    };
    event(RETRY, "hello", &hello)
}

/// Event of every second. Without telemetry the counts are `null`.
pub(super) fn frame<C: Clock>(
    runtime: &Runtime<C>,
    history: &History,
    sample: Option<&Sample>,
    uptime: Duration,
) -> Bytes {
    let at_ms = runtime.gate().now_ms();
    let (lines, lines_left_out) =
        sample.map_or_else(Default::default, |sample| lines(&sample.lines, history));
    let settings = runtime.observer().map(|observer| observer.settings());
    let list = |which| Some(Listed::of(runtime.observer()?, which, top::USUAL, at_ms));
    let frame = Frame {
        at_ms,
        uptime_ms: u64::try_from(uptime.as_millis()).unwrap_or(u64::MAX),
        ready: runtime.is_ready(),
        subjects: settings.as_ref().map(|settings| match settings.subjects {
            Subjects::Plain => "plain",
            Subjects::Hashed => "hashed",
        }),
        near_miss_percent: settings.as_ref().map(|settings| f64::from(settings.near_miss.0) / 100.0),
        totals: sample.map(|sample| sample.totals),
        latency_us: sample.and_then(|sample| history.latency_us(&sample.latency)),
        lines,
        lines_left_out,
        without_key: runtime.observer().map_or_else(Vec::new, |observer| keyless(observer.without_key())),
        denied: list(Which::Denied),
        near: list(Which::Near),
        store: status::store(runtime.gate().store()),
        policy: policy(runtime),
        overrides: json!({ "active": runtime.overrides().iter().filter(|one| one.active).count() }),
        viewers: runtime.viewers.load(Ordering::Relaxed),
    };
    event("", "frame", &frame)
}

fn policy<C: Clock>(runtime: &Runtime<C>) -> Value {
    let state = runtime.reload_state();
    json!({
        "digest": non_empty(&state.policy_digest),
        "loaded_at_ms": state.loaded_at_ms,
        "last_ok": state.last_ok,
        "last_error": state.last_error,
        "rules": runtime.gate().policy().rules().len(),
    })
}

fn non_empty(digest: &str) -> Option<&str> {
    Some(digest).filter(|digest| !digest.is_empty())
}

/// Lines with the most denials, recent ones first, and the number of those that are left out. Lines without counts are omitted.
fn lines<'a>(lines: &'a [Series], history: &History) -> (Vec<LineCounts<'a>>, usize) {
    let mut ranked: Vec<(u64, &Series)> = history.refused(lines).into_iter().zip(lines).collect();
    ranked.retain(|(_, line)| [line.enforced, line.observed] != [SeriesCounts::default(); 2]);
    // As in the policy, where there is no difference.
    ranked.sort_by_key(|(lately, line)| Reverse((*lately, refused(line))));
    let left_out = ranked.len().saturating_sub(MAX_LINES);
    let frames = ranked.iter().take(MAX_LINES).map(|(_, line)| LineCounts {
        rule: &line.rule,
        limit: &line.limit,
        route: &line.route,
        enforced: counted(line.enforced),
        observed: counted(line.observed),
    });
    (frames.collect(), left_out)
}

/// The rules with most of them.
fn keyless(mut all: Vec<KeylessRequests>) -> Vec<Keyless> {
    all.retain(|one| one.requests > 0);
    all.sort_by_key(|one| Reverse(one.requests));
    all.truncate(MAX_LINES);
    let frames = |one: KeylessRequests| {
        let KeylessRequests { rule, key, requests } = one;
        Keyless { rule: (&*rule).into(), key: (&*key).into(), requests }
    };
    all.into_iter().map(frames).collect()
}

fn counted(counts: SeriesCounts) -> Counted {
    let SeriesCounts { allowed, denied, uncharged, looked, near_misses, .. } = counts;
    Counted { allowed, denied, uncharged, looked, near_misses }
}

/// An event. JSON has no line breaks of its own.
fn event(before: &str, name: &str, data: &impl Serialize) -> Bytes {
    let mut bytes = format!("{before}event: {name}\ndata: ").into_bytes();
    serde_json::to_writer(&mut bytes, data).expect("numbers and texts are JSON, and memory takes them");
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}
