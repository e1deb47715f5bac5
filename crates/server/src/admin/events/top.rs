//! `GET /v1/top`: the subjects with the most denials or near misses of late.

use hyper::StatusCode;
use serde_json::{Value, json};
use slidegate::Clock;
use slidegate::telemetry::{Telemetry, TopList};

use crate::admin::keys;
use crate::admin::reply;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::query;
use crate::runtime::Runtime;

pub(super) const DEFAULT_ENTRIES: usize = 20;
const MAX_ENTRIES: usize = 1_000;

/// Criterion of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TopKind {
    Denied,
    Near,
}

/// List of subjects as JSON.
pub(super) fn list(telemetry: &Telemetry, kind: TopKind, most: usize, now_ms: u64) -> Value {
    let top = match kind {
        TopKind::Denied => telemetry.denied(),
        TopKind::Near => telemetry.near(),
    };
    let TopList { entries, since_ms, bound, total, .. } = top.list(most, now_ms);
    let entries = entries.iter().map(|one| {
        let (rule, subject) = (&*one.rule, keys::key(&one.subject));
        let mut entry = json!({ "rule": rule, "subject": subject, "count": one.count, "error": one.error });
        if one.cut {
            entry["cut"] = true.into();
        }
        entry
    });
    json!({ "entries": entries.collect::<Vec<_>>(), "since_ms": since_ms, "bound": bound, "total": total })
}

/// Response with a list.
pub(crate) fn top<C: Clock>(runtime: &Runtime<C>, query: Option<&str>) -> Result<Reply, Problem> {
    let (mut kind, mut most) = (TopKind::Denied, DEFAULT_ENTRIES);
    for (name, value) in query::parse(query)? {
        match &*name {
            "list" => kind = parse_kind(&value)?,
            "most" => most = parse_most(&value)?,
            other => return Err(query::unknown(other, "list and most")),
        }
    }
    let Some(telemetry) = runtime.telemetry() else {
        let detail = "telemetry is off: set observe.enabled in the policy file";
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    };
    Ok(reply::json(StatusCode::OK, &list(telemetry, kind, most, runtime.gate().now_ms())))
}

fn parse_kind(value: &str) -> Result<TopKind, Problem> {
    match value {
        "denied" => Ok(TopKind::Denied),
        "near" => Ok(TopKind::Near),
        other => Err(Problem::bad_request(format!("invalid list {other:?}: expected `denied` or `near`"))),
    }
}

fn parse_most(value: &str) -> Result<usize, Problem> {
    let most = value.parse().ok().filter(|most| (1..=MAX_ENTRIES).contains(most));
    most.ok_or_else(|| {
        Problem::bad_request(format!("invalid most {value:?}: expected a number from 1 to {MAX_ENTRIES}"))
    })
}
