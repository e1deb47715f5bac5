//! Suggestion for programs.

use serde_json::{Value, json};
use slidegate_tune::replay::Precision;
use slidegate_tune::suggest::{LimitSuggestion, RouteSuggestion};

use super::{LogSuggestion, rules};

/// Suggestion with the policy as text.
pub(super) fn report(suggested: &LogSuggestion<'_>, policy: &str) -> Value {
    let LogSuggestion { suggestion, read, precision, .. } = suggested;
    let counts = suggestion.counts;
    let capacity = suggestion.capacity.map(|capacity| {
        json!({
            "capacity": capacity.capacity.to_string(),
            "limit": capacity.limit.to_string(),
            "demand": capacity.demand,
        })
    });
    json!({
        "lines": read.lines(),
        "unreadable": read.unreadable(),
        "requests": counts.requests,
        "limited": counts.limited,
        "invalid": counts.invalid,
        "unlearned": counts.unlearned,
        "late": read.late.count,
        "latest_ms": read.late.most_ms,
        "precision": precision,
        "peaks": match precision {
            Precision::Exact | Precision::Ends => "exact",
            Precision::WholeSeconds | Precision::WholeSecondEnds => "upper_bounds",
        },
        "remarks": rules::remarks(suggested),
        "sample": { "one_of": suggestion.sample.one_of() },
        "routes": suggestion.routes.iter().map(route).collect::<Vec<_>>(),
        "capacity": capacity,
        "policy": policy,
    })
}

fn route(suggestion: &RouteSuggestion) -> Value {
    let path = suggestion.route.path.as_ref();
    json!({
        "path": path.map(|path| &path.template),
        "reason": path.map(|path| &path.reason),
        "except": suggestion.route.except,
        "examples": suggestion.examples,
        "requests": suggestion.requests,
        "lacking_key": suggestion.lacking_key,
        "subjects": suggestion.subjects,
        "may_touch": suggestion.may_touch,
        "touched": suggestion.touched,
        "touched_interval": suggestion.interval.map(|interval| [interval.low, interval.high]),
        "limits": suggestion.limits.iter().map(limit).collect::<Vec<_>>(),
    })
}

fn limit(suggestion: &LimitSuggestion) -> Value {
    let LimitSuggestion { limit, p50, p90, p99, max, touched, implied_by } = suggestion;
    json!({
        "limit": limit.to_string(),
        "quota": limit.quota(),
        "window_ms": limit.window_ms(),
        "peaks": { "p50": p50, "p90": p90, "p99": p99, "max": max },
        "touched": touched,
        "implied_by": implied_by.map(|shorter| shorter.to_string()),
    })
}
