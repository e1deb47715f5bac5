//! Decisions as text for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use hyper::StatusCode;
use serde_json::Value;

const ALLOWED: Style = AnsiColor::Green.on_default().bold();
const DENIED: Style = AnsiColor::Red.on_default().bold();

/// A line for the decision on a request of this cost, and one for every limit that applies.
pub(super) fn decision(response: &Value, cost: u64) -> String {
    let list = |name: &str| response[name].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = headline(response, list("limits"), cost);
    text.push('\n');
    for limit in list("limits") {
        line(&mut text, limit, "");
    }
    for limit in list("observed") {
        line(&mut text, limit, " (observe mode)");
    }
    text
}

fn headline(response: &Value, limits: &[Value], cost: u64) -> String {
    let allowed = response["allowed"] == true;
    let (style, word) = if allowed { (ALLOWED, "allowed") } else { (DENIED, "denied") };
    let never = limits.iter().find(|limit| limit["outcome"] == "never");
    let reason = match (allowed, response["remaining"].as_u64(), wait(response)) {
        (true, ..) if limits.is_empty() => Some("no rule applies".to_owned()),
        (true, remaining, _) => remaining.map(|remaining| format!("{remaining} left")),
        (false, _, Some(wait)) => Some(format!("retry {wait}")),
        (false, ..) => match (never, response["detail"].as_str()) {
            (Some(limit), _) => Some(excess(limit, cost)),
            (None, detail) => detail.map(str::to_owned),
        },
    };
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    format!("{style}{word}{style:#}{reason}")
}

/// Reason of a limit that can never admit a cost: it is above the quota, or above a burst within
/// it.
fn excess(limit: &Value, cost: u64) -> String {
    match limit["quota"].as_u64() {
        Some(quota) if cost > quota => format!("cost {cost} exceeds the limit of {quota}"),
        _ => format!("cost {cost} exceeds the burst of {}", limit["limit"].as_str().unwrap_or("the limit")),
    }
}

fn line(text: &mut String, limit: &Value, note: &str) {
    let name = limit["policy"].as_str().unwrap_or("?");
    let quota = &limit["quota"];
    let state = match limit["remaining"].as_u64() {
        Some(remaining) => format!("{remaining} of {quota} left"),
        None => format!("quota {quota}"),
    };
    let denial = match (limit["outcome"].as_str(), wait(limit)) {
        (Some("never"), _) => ", cost exceeds the limit".to_owned(),
        (_, Some(wait)) => format!(", retry {wait}"),
        _ => String::new(),
    };
    writeln!(text, "  {name}: {state}{denial}{note}").expect("writing to a string does not fail");
}

/// Time until a retry: exact, or an upper bound.
fn wait(members: &Value) -> Option<String> {
    let exact = members["retry_after_ms"].as_u64().map(|ms| format!("after {}", time(ms)));
    exact.or_else(|| Some(format!("within {}", time(members["retry_after_at_most_ms"].as_u64()?))))
}

/// A time in seconds if it is whole seconds, otherwise in milliseconds.
fn time(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}

/// Error response of a server: its status and its reason.
pub(crate) fn problem(status: StatusCode, response: &Value) -> String {
    let reason = response["detail"].as_str().or(response["title"].as_str());
    format!("{status}: {}", reason.unwrap_or("the server gives no reason"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn decisions_as_text() {
        let limit = |remaining: u64, retry: Option<u64>, outcome: &str| {
            json!({"rule": "login", "policy": "login-5/min", "limit": "5/min", "quota": 5, "remaining": remaining,
                "retry_after_ms": retry, "outcome": outcome})
        };
        let rows = [
            (json!({"allowed": true, "limits": []}), "allowed: no rule applies\n"),
            (
                json!({"allowed": true, "remaining": 4, "limits": [limit(4, None, "fits")]}),
                "allowed: 4 left\n  login-5/min: 4 of 5 left\n",
            ),
            (
                json!({"allowed": false, "remaining": 0, "retry_after_ms": 1500,
                    "limits": [limit(0, Some(1500), "retry")]}),
                "denied: retry after 1500 ms\n  login-5/min: 0 of 5 left, retry after 1500 ms\n",
            ),
            (
                json!({"allowed": false, "remaining": 5, "retry_after_ms": null, "limits": [limit(5, None, "never")]}),
                "denied: cost 6 exceeds the limit of 5\n  login-5/min: 5 of 5 left, cost exceeds the limit\n",
            ),
            (
                json!({"allowed": false, "remaining": 5, "retry_after_ms": null, "limits": [
                    {"policy": "api", "limit": "100/s gcra burst 5", "quota": 100, "remaining": 5, "outcome": "never"}]}),
                "denied: cost 6 exceeds the burst of 100/s gcra burst 5\n  api: 5 of 100 left, cost exceeds the limit\n",
            ),
            (
                json!({"allowed": false, "remaining": 0, "retry_after_ms": null, "retry_after_at_most_ms": 30_000,
                    "limits": [{"policy": "jobs", "quota": 2, "remaining": 0, "retry_after_ms": null,
                        "retry_after_at_most_ms": 30_000, "outcome": "retry"}]}),
                "denied: retry within 30 s\n  jobs: 0 of 2 left, retry within 30 s\n",
            ),
            (json!({"allowed": false, "detail": "on the deny list"}), "denied: on the deny list\n"),
            (
                json!({"allowed": true, "limits": [], "observed": [limit(0, Some(3000), "retry")]}),
                "allowed: no rule applies\n  login-5/min: 0 of 5 left, retry after 3 s (observe mode)\n",
            ),
        ];
        for (value, expected) in rows {
            assert_eq!(anstream::adapter::strip_str(&decision(&value, 6)).to_string(), expected);
        }
    }
}
