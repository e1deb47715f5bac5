//! The JSON of the golden vectors in `vectors/`: reads limits, writes verdicts.

use std::time::Duration;

use serde_json::{Value, json};
use slidegate_core::{Limit, Outcome, Resolution, Verdict};

/// A verdict as the vectors have it.
pub fn to_json(verdict: &Verdict) -> Value {
    let limits = verdict.decisions.iter().map(|decision| {
        let outcome = match decision.outcome {
            Outcome::Fits => json!("fits"),
            Outcome::RetryAfter(ms) => json!(ms),
            Outcome::Never => json!("never"),
        };
        let (remaining, reset_after_ms) = (decision.remaining, decision.reset_after_ms);
        json!({ "outcome": outcome, "remaining": remaining, "reset_after_ms": reset_after_ms })
    });
    json!({
        "allowed": verdict.is_allowed(),
        "remaining": verdict.remaining(),
        "retry_after_ms": verdict.retry_after_ms(),
        "reset_after_ms": verdict.reset_after_ms(),
        "limits": limits.collect::<Vec<_>>(),
    })
}

/// The limit that a value describes.
pub fn limit(value: &Value) -> Limit {
    let (quota, window) = (number(&value["quota"]), Duration::from_millis(number(&value["window_ms"])));
    let log = || Limit::new(quota, window);
    let limit = match (text(&value["kind"]), value["resolution_ms"].as_u64()) {
        ("log", Some(ms)) => log().and_then(|limit| limit.resolution(Resolution::Ms(ms))),
        ("log", None) => log(),
        ("counter", _) => log().and_then(Limit::counter),
        ("fixed", _) => log().and_then(Limit::fixed),
        ("gcra", _) => log().and_then(|limit| limit.gcra(number(&value["burst"]))),
        ("in_flight", _) => Limit::in_flight(quota, window),
        (kind, _) => panic!("unknown kind {kind}"),
    };
    let limit = limit.unwrap_or_else(|error| panic!("{value}: {error}"));
    value["name"].as_str().map_or(limit, |name| limit.named(name))
}

/// A whole number.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a whole number"))
}

/// A text.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string"))
}

/// A list.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a list"))
}
