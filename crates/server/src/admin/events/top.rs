//! `GET /v1/top`: the subjects that were refused most of late, or that came closest to it.

use std::ops::Not;

use hyper::StatusCode;
use serde::Serialize;
use serde_json::Value;
use slidegate::Clock;
use slidegate::telemetry::{Telemetry, TopList};

use crate::admin::keys;
use crate::admin::reply::json;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::query;
use crate::runtime::Runtime;

/// Default number of entries.
pub(super) const USUAL: usize = 20;
/// The most that are known.
const MOST: usize = 1_000;

/// List of subjects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Which {
    Denied,
    Near,
}

/// List of subjects as JSON.
#[derive(Serialize)]
pub(super) struct Listed {
    entries: Vec<TopEntry>,
    since_ms: u64,
    bound: u64,
    total: u64,
}

#[derive(Serialize)]
struct TopEntry {
    rule: String,
    subject: Value,
    /// Told only where it is so.
    #[serde(skip_serializing_if = "Not::not")]
    cut: bool,
    count: u64,
    error: u64,
}

impl Listed {
    pub(super) fn of(observer: &Telemetry, which: Which, most: usize, now_ms: u64) -> Self {
        let top = match which {
            Which::Denied => observer.denied(),
            Which::Near => observer.near(),
        };
        let TopList { entries, since_ms, bound, total, .. } = top.list(most, now_ms);
        let entries = entries.into_iter().map(|one| TopEntry {
            rule: one.rule.to_string(),
            subject: keys::key(&one.subject),
            cut: one.cut,
            count: one.count,
            error: one.error,
        });
        Self { entries: entries.collect(), since_ms, bound, total }
    }
}

/// Answers with one of the lists.
pub(crate) fn top<C: Clock>(runtime: &Runtime<C>, query: Option<&str>) -> Result<Reply, Problem> {
    let (mut which, mut most) = (Which::Denied, USUAL);
    for (name, value) in query::parse(query)? {
        match &*name {
            "list" => which = list(&value)?,
            "most" => most = count(&value)?,
            other => return Err(query::unknown(other, "list and most")),
        }
    }
    let Some(observer) = runtime.observer() else {
        let detail = "nothing is counted: set observe.enabled in the policy file";
        return Err(Problem::new(StatusCode::CONFLICT, detail));
    };
    let listed = Listed::of(observer, which, most, runtime.gate().now_ms());
    Ok(json(StatusCode::OK, &serde_json::to_value(&listed).expect("numbers and texts are JSON")))
}

fn list(value: &str) -> Result<Which, Problem> {
    match value {
        "denied" => Ok(Which::Denied),
        "near" => Ok(Which::Near),
        other => Err(Problem::bad_request(format!("list is `denied` or `near`, not {other:?}"))),
    }
}

fn count(value: &str) -> Result<usize, Problem> {
    let count = value.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.ok_or_else(|| Problem::bad_request(format!("most is a number from 1 to {MOST}, not {value:?}")))
}
