//! Answers of the admin listener, for people.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use anstyle::{AnsiColor, Style};
use serde_json::Value;

const STRONG: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Puts a line into a text.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        writeln!($text, $($format)*).expect("a string takes everything")
    };
}

pub(super) fn status(answer: &Value) -> String {
    let mut text = String::new();
    let ready =
        if answer["ready"] == true { format!("{GOOD}ready{GOOD:#}") } else { format!("{BAD}ending{BAD:#}") };
    line!(text, "{STRONG}slidegate {}{STRONG:#}, {ready}", word(&answer["version"]));
    let policy = &answer["policy"];
    let file = policy["file"].as_str().unwrap_or("not from a file");
    let loaded = ago(&policy["loaded_at_ms"]);
    line!(text, "policy       {file}, {}, in force for {loaded}", count(&policy["rules"], "rule"));
    line!(text, "reloads      {} done, {} refused", policy["reloads"], policy["failures"]);
    for error in policy["last_error"].as_str().into_iter().flat_map(str::lines) {
        line!(text, "             {BAD}{error}{BAD:#}");
    }
    store(&mut text, &answer["store"]);
    let overrides = &answer["overrides"];
    line!(text, "overrides    {} in force, {} not", overrides["active"], overrides["inactive"]);
    let connections = &answer["connections"];
    let (open, away) = (&connections["open"], &connections["turned_away"]);
    line!(text, "connections  {open} open, {away} turned away");
    if let Some(file) = answer["snapshot"]["file"].as_str() {
        let saved = match answer["snapshot"]["last_saved_at_ms"].as_u64() {
            Some(_) => format!("saved {} ago", ago(&answer["snapshot"]["last_saved_at_ms"])),
            None => "not saved yet".to_owned(),
        };
        line!(text, "snapshot     {file}, {saved}");
    }
    for one in list(&answer["certificates"]) {
        let ends = one["not_after_ms"].as_u64().map_or_else(|| "?".to_owned(), |ms| until(ms, now_ms()));
        line!(text, "certificate  {}, ends in {ends}", word(&one["file"]));
    }
    text
}

fn store(text: &mut String, store: &Value) {
    let state = word(&store["state"]);
    let style = if state == "available" { GOOD } else { BAD };
    let rest = match store["kind"].as_str() {
        Some("memory") => {
            format!("{}, {} of {} bytes", count(&store["keys"], "key"), store["bytes"], store["max_bytes"])
        }
        _ => format!("{} unanswered", count(&store["failures"], "request")),
    };
    line!(text, "store        {}, {style}{state}{style:#}, {rest}", word(&store["kind"]));
    for warning in list(&store["warnings"]) {
        line!(text, "             {}", word(warning));
    }
}

pub(super) fn policy(answer: &Value) -> String {
    let mut text = String::new();
    for rule in list(&answer["rules"]) {
        line!(
            text,
            "{STRONG}{}{STRONG:#}: {}, by {}; {}",
            word(&rule["name"]),
            word(&rule["matches"]),
            word(&rule["key"]),
            word(&rule["mode"])
        );
        for terms in list(&rule["terms"]) {
            let limits: Vec<&str> =
                list(&terms["limits"]).iter().map(|limit| word(&limit["limit"])).collect();
            line!(text, "  {}: {}", word(&terms["applies_to"]), limits.join(", "));
        }
        for (name, what) in [("allow", "not limited"), ("deny", "refused")] {
            for one in list(&rule[name]) {
                line!(text, "  {}: {what}", word(one));
            }
        }
    }
    if text.is_empty() { "there are no rules\n".to_owned() } else { text }
}

pub(super) fn ready(answer: &Value) -> String {
    format!("{GOOD}ready{GOOD:#}, store {}\n", word(&answer["store"]))
}

pub(super) fn reloaded(answer: &Value) -> String {
    let mut text = match list(&answer["changes"]).len() {
        0 => "reloaded: nothing has changed\n".to_owned(),
        1 => "reloaded: 1 change\n".to_owned(),
        changes => format!("reloaded: {changes} changes\n"),
    };
    for change in list(&answer["changes"]) {
        line!(text, "  {}", word(change));
    }
    for setting in list(&answer["at_next_start"]) {
        line!(text, "  {} takes effect at the next start", word(setting));
    }
    text
}

pub(super) fn looked(answer: &Value) -> String {
    let mut text = message(answer);
    for one in list(&answer["subjects"]) {
        let note = match (one["listed"].as_str(), one["mode"].as_str(), one["source"].as_str()) {
            (Some("deny"), ..) => " (refused: on the deny list)",
            (Some(_), ..) => " (not limited: on the allow list)",
            (_, Some("observed"), _) => " (only watched)",
            (_, _, Some("local")) => " (this node's share: the store does not answer)",
            (_, _, Some("assumed")) => " (not known: the store does not answer)",
            _ => "",
        };
        line!(text, "{STRONG}{}{STRONG:#} {}{note}", word(&one["rule"]), key(&one["key"]));
        let limits = list(&one["limits"]);
        let width = limits.iter().map(|limit| word(&limit["limit"]).len()).max().unwrap_or(0);
        for limit in limits {
            line!(text, "  {:width$}  {}", word(&limit["limit"]), used(limit));
        }
    }
    text
}

fn used(limit: &Value) -> String {
    let Some(left) = limit["remaining"].as_u64() else { return "not known".to_owned() };
    let used = limit["used"].as_u64().map_or(String::new(), |used| format!("{used} used, "));
    let mut text = format!("{used}{left} left");
    if let Some(ms) = limit["retry_after_ms"].as_u64() {
        write!(text, ", {BAD}again in {}{BAD:#}", span(ms)).expect("a string takes everything");
    }
    if let Some(ms) = limit["retry_after_at_most_ms"].as_u64() {
        write!(text, ", {BAD}again within {}{BAD:#}", span(ms)).expect("a string takes everything");
    }
    if let Some(ms) = limit["reset_after_ms"].as_u64().filter(|ms| *ms > 0) {
        write!(text, ", fresh in {}", span(ms)).expect("a string takes everything");
    }
    text
}

pub(super) fn reset(answer: &Value) -> String {
    let mut text = message(answer);
    for one in list(&answer["subjects"]) {
        let limits: Vec<&str> = list(&one["limits"]).iter().map(word).collect();
        line!(text, "{GOOD}reset{GOOD:#} {} {}: {}", word(&one["rule"]), key(&one["key"]), limits.join(", "));
    }
    text
}

pub(super) fn set(answer: &Value) -> String {
    let ends = answer["expires_at_ms"]
        .as_u64()
        .unwrap_or(0)
        .saturating_sub(answer["created_at_ms"].as_u64().unwrap_or(0));
    format!("{GOOD}set{GOOD:#} {}: {}, for {}\n", word(&answer["id"]), word(&answer["text"]), span(ends))
}

pub(super) fn overrides(answer: &Value) -> String {
    let all = list(&answer["overrides"]);
    if all.is_empty() {
        return "there are no overrides\n".to_owned();
    }
    let mut text = String::new();
    let now_ms = now_ms();
    for one in all {
        let ends = until(one["expires_at_ms"].as_u64().unwrap_or(0), now_ms);
        line!(text, "{STRONG}{}{STRONG:#}  {}, ends in {ends}", word(&one["id"]), word(&one["text"]));
        if let Some(reason) = one["reason"].as_str().filter(|reason| !reason.is_empty()) {
            line!(text, "  because: {reason}");
        }
        if let Some(problem) = one["problem"].as_str() {
            line!(text, "  {BAD}not in force{BAD:#}: {problem}");
        }
    }
    text
}

pub(super) fn removed(answer: &Value) -> String {
    format!("{GOOD}removed{GOOD:#} {}\n", word(&answer["id"]))
}

fn message(answer: &Value) -> String {
    answer["message"].as_str().map_or_else(String::new, |message| format!("{message}\n"))
}

/// `ip=203.0.113.7`
fn key(key: &Value) -> String {
    let Some(parts) = key.as_object().filter(|parts| !parts.is_empty()) else {
        return "for everybody".to_owned();
    };
    let parts = parts.iter().map(|(name, value)| match value.as_str() {
        Some(value) => format!("{name}={value}"),
        None => format!("without {name}"),
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

fn until(at_ms: u64, now_ms: u64) -> String {
    span(at_ms.saturating_sub(now_ms))
}

/// In the two largest units that it has, rounded up.
fn span(ms: u64) -> String {
    let seconds = ms.div_ceil(1_000);
    let units = [(86_400, "day"), (3_600, "h"), (60, "min"), (1, "s")];
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
