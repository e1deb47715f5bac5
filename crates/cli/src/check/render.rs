//! An answer, for people.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use hyper::StatusCode;
use serde_json::Value;

const ALLOWED: Style = AnsiColor::Green.on_default().bold();
const DENIED: Style = AnsiColor::Red.on_default().bold();

/// A line for the request, and one for every limit that it was held against.
pub(super) fn answer(answer: &Value) -> String {
    let limits = answer["limits"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = headline(answer, limits.is_empty());
    text.push('\n');
    for limit in limits {
        line(&mut text, limit, "");
    }
    for limit in answer["observed"].as_array().map_or(&[][..], Vec::as_slice) {
        line(&mut text, limit, " (only watched)");
    }
    text
}

fn headline(answer: &Value, nothing_applied: bool) -> String {
    let allowed = answer["allowed"] == true;
    let (style, word) = if allowed { (ALLOWED, "allowed") } else { (DENIED, "denied") };
    let rest = match (allowed, answer["remaining"].as_u64(), wait(answer)) {
        (true, ..) if nothing_applied => ": no rule applies".to_owned(),
        (true, Some(remaining), _) => format!(", {remaining} left"),
        (false, _, Some(wait)) => format!(", retry {wait}"),
        (false, ..) => match answer["detail"].as_str() {
            Some(detail) if nothing_applied => format!(": {detail}"),
            _ => ", and waiting does not help".to_owned(),
        },
        (true, None, _) => String::new(),
    };
    format!("{style}{word}{style:#}{rest}")
}

fn line(text: &mut String, limit: &Value, note: &str) {
    let name = limit["policy"].as_str().unwrap_or("?");
    let quota = &limit["quota"];
    let state = match limit["remaining"].as_u64() {
        Some(remaining) => format!("{remaining} of {quota} left"),
        None => format!("of {quota}"),
    };
    let refused = match (limit["outcome"].as_str(), wait(limit)) {
        (Some("never"), _) => ", costs more than it ever allows".to_owned(),
        (_, Some(wait)) => format!(", retry {wait}"),
        _ => String::new(),
    };
    writeln!(text, "  {name}: {state}{refused}{note}").expect("a string takes everything");
}

/// When to come again: exactly, or at the latest.
fn wait(members: &Value) -> Option<String> {
    let exact = members["retry_after_ms"].as_u64().map(|ms| format!("after {}", time(ms)));
    exact.or_else(|| Some(format!("within {}", time(members["retry_after_at_most_ms"].as_u64()?))))
}

/// Milliseconds, in the largest unit that keeps all of them.
fn time(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{} s", ms / 1_000) } else { format!("{ms} ms") }
}

/// What is wrong, in the server's words.
pub(crate) fn problem(status: StatusCode, answer: &Value) -> String {
    let said = answer["detail"].as_str().or(answer["title"].as_str());
    format!("{DENIED}{status}{DENIED:#}: {}", said.unwrap_or("the server does not say why"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_in_words() {
        let limit = |remaining: u64, retry: Option<u64>, outcome: &str| {
            json!({"rule": "login", "policy": "login-5/min", "quota": 5, "remaining": remaining,
                "retry_after_ms": retry, "outcome": outcome})
        };
        let rows = [
            (json!({"allowed": true, "limits": []}), "allowed: no rule applies\n"),
            (
                json!({"allowed": true, "remaining": 4, "limits": [limit(4, None, "fits")]}),
                "allowed, 4 left\n  login-5/min: 4 of 5 left\n",
            ),
            (
                json!({"allowed": false, "remaining": 0, "retry_after_ms": 1500,
                    "limits": [limit(0, Some(1500), "retry")]}),
                "denied, retry after 1500 ms\n  login-5/min: 0 of 5 left, retry after 1500 ms\n",
            ),
            (
                json!({"allowed": false, "remaining": 5, "retry_after_ms": null, "limits": [limit(5, None, "never")]}),
                "denied, and waiting does not help\n  login-5/min: 5 of 5 left, costs more than it ever allows\n",
            ),
            (
                json!({"allowed": false, "remaining": 0, "retry_after_ms": null, "retry_after_at_most_ms": 30_000,
                    "limits": [{"policy": "jobs", "quota": 2, "remaining": 0, "retry_after_ms": null,
                        "retry_after_at_most_ms": 30_000, "outcome": "retry"}]}),
                "denied, retry within 30 s\n  jobs: 0 of 2 left, retry within 30 s\n",
            ),
            (json!({"allowed": false, "detail": "on the deny list"}), "denied: on the deny list\n"),
            (
                json!({"allowed": true, "limits": [], "observed": [limit(0, Some(3000), "retry")]}),
                "allowed: no rule applies\n  login-5/min: 0 of 5 left, retry after 3 s (only watched)\n",
            ),
        ];
        for (value, expected) in rows {
            assert_eq!(anstream::adapter::strip_str(&answer(&value)).to_string(), expected);
        }
    }
}
