//! Members of a denial in JSON, the same as in the HTTP API of the server.

use slidegate_core::{Source, Wait};

use crate::gate::{Answer, LimitAnswer};

/// What decided, and when.
#[derive(Clone, Copy)]
pub(super) struct DenialOrigin {
    pub(super) source: Source,
    pub(super) at_ms: u64,
}

/// Writes the members of a denial by the limits of an answer, or by none, each after a comma.
pub(super) fn write_denial(body: &mut String, origin: DenialOrigin, answer: Option<&Answer>) {
    let limits = || answer.into_iter().flat_map(Answer::limits);
    body.push_str(",\"violated-policies\":[");
    let mut separator = "\"";
    for limit in limits().filter(LimitAnswer::is_violated) {
        body.extend([separator, limit.name, "\""]);
        separator = ",\"";
    }
    let summary = answer.map(Answer::summary);
    body.push_str("],\"allowed\":false");
    put_number(body, "remaining", summary.as_ref().and_then(|summary| summary.remaining));
    put_wait(body, summary.as_ref().map_or(Wait::Never, |summary| summary.wait));
    put_number(body, "reset_after_ms", summary.as_ref().and_then(|summary| summary.reset_after_ms));
    put_number(body, "decided_at_ms", Some(origin.at_ms));
    body.extend([",\"source\":\"", origin.source.name(), "\",\"limits\":["]);
    let mut separator = "{";
    for limit in limits() {
        body.push_str(separator);
        write_limit(body, &limit);
        separator = ",{";
    }
    body.push(']');
}

/// Writes the members of a limit. Names and texts of limits need no escapes.
fn write_limit(body: &mut String, answer: &LimitAnswer<'_>) {
    if let Some(rule) = answer.rule {
        body.extend(["\"rule\":\"", rule, "\","]);
    }
    body.extend(["\"limit\":\"", answer.text, "\",\"policy\":\"", answer.name, "\""]);
    put_number(body, "quota", Some(answer.limit.quota()));
    if let Some(whole) = answer.share_of {
        put_number(body, "share_of", Some(whole.quota()));
    }
    put_number(body, "window_ms", Some(answer.limit.window_ms()));
    let (has_numbers, decision) = (answer.has_numbers(), answer.decision);
    put_number(body, "remaining", has_numbers.then_some(decision.remaining));
    put_wait(body, answer.wait());
    put_number(body, "reset_after_ms", has_numbers.then_some(decision.reset_after_ms));
    body.extend([",\"outcome\":\"", decision.outcome.name(), "\"}"]);
}

fn put_wait(body: &mut String, wait: Wait) {
    put_number(body, "retry_after_ms", wait.exact_ms());
    if let Some(ms) = wait.at_most_ms() {
        put_number(body, "retry_after_at_most_ms", Some(ms));
    }
}

fn put_number(body: &mut String, name: &str, number: Option<u64>) {
    body.extend([",\"", name, "\":"]);
    match number {
        Some(number) => body.push_str(itoa::Buffer::new().format(number)),
        None => body.push_str("null"),
    }
}
