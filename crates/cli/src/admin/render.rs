//! Responses of the admin listener as text for people.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

const STRONG: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Appends formatted text, and a line feed, to a string.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        writeln!($text, $($format)*).expect("writing to a string does not fail")
    };
}

pub(super) fn status(response: &Value) -> String {
    let mut text = String::new();
    let ready = if response["ready"] == true {
        format!("{GOOD}ready{GOOD:#}")
    } else {
        format!("{BAD}shutting down{BAD:#}")
    };
    line!(text, "{STRONG}slidegate {}{STRONG:#}: {ready}", word(&response["version"]));
    let policy = &response["policy"];
    let file = policy["file"].as_str().unwrap_or("built in");
    let loaded = ago(&policy["loaded_at_ms"]);
    line!(text, "policy: {file}, {}, loaded {loaded} ago", count(&policy["rules"], "rule"));
    line!(text, "reloads: {} succeeded, {} failed", policy["reloads"], policy["failures"]);
    for error in policy["last_error"].as_str().into_iter().flat_map(str::lines) {
        line!(text, "  {BAD}{error}{BAD:#}");
    }
    store(&mut text, &response["store"]);
    let overrides = &response["overrides"];
    line!(text, "overrides: {} active, {} inactive", overrides["active"], overrides["inactive"]);
    let connections = &response["connections"];
    line!(text, "connections: {} open, {} rejected", connections["open"], connections["turned_away"]);
    if let Some(file) = response["snapshot"]["file"].as_str() {
        let saved = match response["snapshot"]["last_saved_at_ms"].as_u64() {
            Some(_) => format!("saved {} ago", ago(&response["snapshot"]["last_saved_at_ms"])),
            None => "not saved yet".to_owned(),
        };
        line!(text, "snapshot: {file}, {saved}");
    }
    for certificate in list(&response["certificates"]) {
        let expires = certificate["not_after_ms"].as_u64().map_or_else(|| "?".to_owned(), until);
        line!(text, "certificate: {}, expires in {expires}", word(&certificate["file"]));
    }
    text
}

fn store(text: &mut String, store: &Value) {
    let state = word(&store["state"]);
    let style = if state == "available" { GOOD } else { BAD };
    let usage = match store["kind"].as_str() {
        Some("memory") => {
            format!("{}, {} of {} bytes", count(&store["keys"], "key"), store["bytes"], store["max_bytes"])
        }
        _ => count(&store["failures"], "failed request"),
    };
    line!(text, "store: {}, {style}{state}{style:#}, {usage}", word(&store["kind"]));
    for warning in list(&store["warnings"]) {
        line!(text, "  {}", word(warning));
    }
}

pub(super) fn policy(response: &Value) -> String {
    let mut text = String::new();
    for rule in list(&response["rules"]) {
        line!(text, "{STRONG}{}{STRONG:#}", word(&rule["name"]));
        line!(text, "  match: {}", word(&rule["matches"]));
        line!(text, "  key: {}", word(&rule["key"]));
        line!(text, "  mode: {}", word(&rule["mode"]));
        for terms in list(&rule["terms"]) {
            let limits: Vec<&str> =
                list(&terms["limits"]).iter().map(|limit| word(&limit["limit"])).collect();
            line!(text, "  limits, {}: {}", word(&terms["applies_to"]), limits.join(", "));
        }
        for name in ["allow", "deny"] {
            for conditions in list(&rule[name]) {
                line!(text, "  {name}: {}", word(conditions));
            }
        }
    }
    if text.is_empty() { "no rules\n".to_owned() } else { text }
}

pub(super) fn ready(response: &Value) -> String {
    format!("{GOOD}ready{GOOD:#}, store {}\n", word(&response["store"]))
}

pub(super) fn reload(response: &Value) -> String {
    let mut text = match list(&response["changes"]).len() {
        0 => "reloaded: no changes\n".to_owned(),
        1 => "reloaded: 1 change\n".to_owned(),
        changes => format!("reloaded: {changes} changes\n"),
    };
    for change in list(&response["changes"]) {
        line!(text, "  {}", word(change));
    }
    for setting in list(&response["at_next_start"]) {
        line!(text, "  {} takes effect at the next start", word(setting));
    }
    text
}

pub(super) fn inspection(response: &Value) -> String {
    let mut text = message(response);
    for subject in list(&response["subjects"]) {
        let state = [&subject["listed"], &subject["mode"], &subject["source"]].map(Value::as_str);
        let note = match state {
            [Some("deny"), ..] => " (denied: on the deny list)",
            [Some(_), ..] => " (not limited: on the allow list)",
            [_, Some("observed"), _] => " (observe mode)",
            [_, _, Some("local")] => " (this node's share: the store is unavailable)",
            [_, _, Some("assumed")] => " (usage unknown: the store is unavailable)",
            _ => "",
        };
        line!(text, "{STRONG}{}{STRONG:#} {}{note}", word(&subject["rule"]), key(&subject["key"]));
        let limits = list(&subject["limits"]);
        let width = limits.iter().map(|limit| word(&limit["limit"]).len()).max().unwrap_or(0);
        for limit in limits {
            line!(text, "  {:width$}  {}", word(&limit["limit"]), usage(limit));
        }
    }
    text
}

fn usage(limit: &Value) -> String {
    let Some(left) = limit["remaining"].as_u64() else { return "unknown".to_owned() };
    let mut parts: Vec<String> =
        limit["used"].as_u64().map(|used| format!("{used} used")).into_iter().collect();
    parts.push(format!("{left} left"));
    let ms = |name: &str| limit[name].as_u64();
    parts.extend(ms("retry_after_ms").map(|ms| format!("{BAD}next slot in {}{BAD:#}", span(ms))));
    parts.extend(ms("retry_after_at_most_ms").map(|ms| format!("{BAD}next slot within {}{BAD:#}", span(ms))));
    parts.extend(ms("reset_after_ms").filter(|ms| *ms > 0).map(|ms| format!("fully reset in {}", span(ms))));
    parts.join(", ")
}

pub(super) fn reset(response: &Value) -> String {
    let mut text = message(response);
    for subject in list(&response["subjects"]) {
        let (rule, key) = (word(&subject["rule"]), key(&subject["key"]));
        let limits: Vec<&str> = list(&subject["limits"]).iter().map(word).collect();
        line!(text, "{GOOD}reset{GOOD:#} {rule} {key}: {}", limits.join(", "));
    }
    text
}

pub(super) fn new_override(response: &Value) -> String {
    let (created, expires) = (response["created_at_ms"].as_u64(), response["expires_at_ms"].as_u64());
    let lifetime = span(expires.unwrap_or(0).saturating_sub(created.unwrap_or(0)));
    format!(
        "{GOOD}added{GOOD:#} {}: {}, expires in {lifetime}\n",
        word(&response["id"]),
        word(&response["text"])
    )
}

pub(super) fn overrides(response: &Value) -> String {
    let all = list(&response["overrides"]);
    if all.is_empty() {
        return "no overrides\n".to_owned();
    }
    let mut text = String::new();
    for one in all {
        let expires = until(one["expires_at_ms"].as_u64().unwrap_or(0));
        line!(text, "{STRONG}{}{STRONG:#}  {}, expires in {expires}", word(&one["id"]), word(&one["text"]));
        if let Some(reason) = one["reason"].as_str().filter(|reason| !reason.is_empty()) {
            line!(text, "  reason: {reason}");
        }
        if let Some(problem) = one["problem"].as_str() {
            line!(text, "  {BAD}inactive{BAD:#}: {problem}");
        }
    }
    text
}

pub(super) fn removal(response: &Value) -> String {
    format!("{GOOD}removed{GOOD:#} {}\n", word(&response["id"]))
}

fn message(response: &Value) -> String {
    response["message"].as_str().map_or_else(String::new, |message| format!("{message}\n"))
}

/// A key as text: `ip=203.0.113.7`.
fn key(key: &Value) -> String {
    let Some(parts) = key.as_object().filter(|parts| !parts.is_empty()) else {
        return "(all requests)".to_owned();
    };
    let parts = parts.iter().map(|(name, value)| match value.as_str() {
        Some(value) => format!("{name}={value}"),
        None => format!("(no {name})"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn count(value: &Value, name: &str) -> String {
    if *value == 1 { format!("1 {name}") } else { format!("{value} {name}s") }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn ago(at_ms: &Value) -> String {
    span(now_ms().saturating_sub(at_ms.as_u64().unwrap_or(0)))
}

fn until(at_ms: u64) -> String {
    span(at_ms.saturating_sub(now_ms()))
}

/// A time in its two largest units, rounded up to seconds.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let Some(first) = units.iter().position(|(length, _)| seconds >= *length) else {
        return "0 s".to_owned();
    };
    let (length, name) = units[first];
    let large = format!("{} {name}", seconds / length);
    match units.get(first + 1).map(|(small, name)| (seconds % length / small, name)) {
        Some((count @ 1.., name)) => format!("{large} {count} {name}"),
        _ => large,
    }
}

#[cfg(test)]
mod tests;
