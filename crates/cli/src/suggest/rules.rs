//! Suggestion as a policy with comments.

use slidegate::Limit;
use slidegate_tune::access_log::FileReport;
use slidegate_tune::numbers;
use slidegate_tune::replay::Precision;
use slidegate_tune::suggest::{LimitSuggestion, RouteSuggestion};

use super::LogSuggestion;
use crate::access_log_args::log_fields;
use crate::policy_writer::names::RuleNames;
use crate::policy_writer::quote::excerpt;
use crate::policy_writer::{PolicyDraft, PolicyItem, Quota, RuleDraft, ValueTest, WindowKind};

/// Name of the rule of all requests that no other rule has.
const REST: &str = "other";
/// Name of the rule for all clients together.
const CAPACITY: &str = "capacity";
/// Columns of a comment.
const COLUMNS: usize = 96;
/// Requests of a thousand that may have been limited without a warning.
const LIMITED_PER_THOUSAND: u64 = 1;

/// The policy.
pub(super) fn policy(suggested: &LogSuggestion<'_>) -> PolicyDraft {
    let mut names = RuleNames::default();
    let mut items = Vec::new();
    if let Some(capacity) = suggested.suggestion.capacity {
        let (limit, capacity, demand) = (capacity.limit, capacity.capacity, capacity.demand);
        let comments = vec![format!(
            "All clients: 85 % of {capacity}. The log has at most {demand} in {}.",
            span(&limit)
        )];
        items.push(PolicyItem::Rule(RuleDraft {
            comments,
            name: names.unique(CAPACITY),
            limits: vec![quota(&limit)],
            observe: true,
            ..RuleDraft::default()
        }));
    }
    let routes = &suggested.suggestion.routes;
    let has_others = routes.len() > 1;
    for route in routes {
        let name = match &route.route.path {
            Some(path) => names.unique(&name_of(&path.template)),
            None if has_others => names.unique(REST),
            None => names.unique("all"),
        };
        items.push(match rule(suggested, route, name) {
            Ok(rule) => PolicyItem::Rule(rule),
            Err(note) => PolicyItem::Note(note),
        });
    }
    PolicyDraft { preamble: preamble(suggested), items }
}

/// Warnings for standard error.
pub(super) fn warnings(suggested: &LogSuggestion<'_>) -> Vec<String> {
    let counts = &suggested.suggestion.counts;
    let mut warnings = Vec::new();
    if counts.limited * 1_000 > counts.requests * LIMITED_PER_THOUSAND {
        warnings.push(format!(
            "{} of {} requests had been limited (429). They are left out, but clients that retry send more \
             requests, and those are in the numbers",
            counts.limited, counts.requests
        ));
    }
    if counts.requests == 0 {
        warnings.push("the log has no requests".to_owned());
    }
    if counts.unlearned > 0 {
        warnings.push(format!(
            "{} requests have paths of their own, too many to learn routes from: they are in `{REST}`",
            counts.unlearned
        ));
    }
    if counts.invalid > 0 {
        warnings.push(format!(
            "{} requests are left out: their address is invalid, or servers read their path differently",
            counts.invalid
        ));
    }
    let unreadable = suggested.read.unreadable();
    let unread = suggested.read.files.iter().filter_map(FileReport::unread);
    warnings.extend(unread.map(|unread| unread.to_string()));
    if unreadable > 0 {
        warnings.push(format!("{unreadable} of {} lines could not be read", suggested.read.lines()));
    }
    warnings
}

/// What the log says of the starts of requests, where that is less than a millisecond.
pub(super) fn remarks(suggested: &LogSuggestion<'_>) -> Vec<String> {
    let (read, mut remarks) = (&suggested.read, Vec::new());
    if read.files.iter().filter_map(|file| file.facts.as_ref()).any(|facts| facts.is_server_assumed) {
        remarks.push("nginx is assumed; if Apache wrote it, use --server apache.".to_owned());
    }
    let fields = match log_fields(&read.directives()) {
        fields if fields.is_empty() => "milliseconds".to_owned(),
        fields => fields,
    };
    let sharpen =
        format!("Log {fields} to sharpen them (`slidegate suggest --formats` prints the lines to copy).");
    match suggested.precision {
        Precision::Exact => {}
        Precision::WholeSeconds => {
            remarks.push(format!("The log has whole seconds: peaks are upper bounds. {sharpen}"));
        }
        Precision::WholeSecondEnds => remarks.push(format!(
            "The log has whole seconds: peaks are upper bounds, and for the ends of requests, which are all that it \
             has. Slow requests started earlier. {sharpen}"
        )),
        Precision::Ends => remarks.push(
            "The log has no durations: requests count at their ends. Slow requests started earlier.".to_owned(),
        ),
    }
    if read.late.count > 0 {
        remarks.push(format!(
            "{} lines came later than --reorder allows, by at most {}: they count at the time that the log had \
             reached.",
            read.late.count,
            numbers::span(read.late.most_ms)
        ));
    }
    remarks
}

fn preamble(suggested: &LogSuggestion<'_>) -> Vec<String> {
    let LogSuggestion { args, suggestion, read, .. } = suggested;
    let files: Vec<String> = read.files.iter().take(3).map(|file| excerpt(&file.name)).collect();
    let more = read.files.len().saturating_sub(files.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let margin = if args.exact {
        "Quotas are exact: no margin, no rounding.".to_owned()
    } else {
        format!("Quotas have {} % of headroom, and are rounded up to two digits.", args.headroom)
    };
    let mut text = vec![
        format!("Suggested by `slidegate suggest` from {}{more}.", files.join(", ")),
        String::new(),
        format!(
            "{} requests. A peak is the most that a client had in a window. A limit touches the clients whose peak \
             is above it; at most {} of a route are. {margin}",
            suggestion.counts.requests,
            percent(f64::from(args.touch.0) / 10_000.0),
        ),
        "Every rule observes: it counts and reports, and denies nothing. Compare with `slidegate replay`, run it, \
         then remove `mode: observe` rule by rule."
            .to_owned(),
    ];
    text.extend(remarks(suggested));
    if !suggestion.sample.is_all() {
        text.push(format!("Memory was full: {} were counted. --max-memory raises that.", suggestion.sample));
    }
    text.iter().flat_map(|text| wrapped(text)).collect()
}

/// Rule of a route; a note, if it has no clients.
fn rule(suggested: &LogSuggestion<'_>, route: &RouteSuggestion, name: String) -> Result<RuleDraft, String> {
    let path = route.route.path.as_ref();
    let title = path.map_or("requests of no other rule", |path| &path.template);
    if route.limits.is_empty() {
        let note = format!("No rule for {title}: {} requests, none with a key.", route.requests);
        return Err(note.replace(char::is_control, " "));
    }
    let paths = |templates: Vec<String>| ("path".to_owned(), ValueTest::Is(templates));
    let except = &route.route.except;
    let needed = route.limits.iter().filter(|limit| limit.implied_by.is_none());
    Ok(RuleDraft {
        comments: comments(suggested, route),
        name,
        matches: path.map(|path| paths(vec![path.template.clone()])).into_iter().collect(),
        key: suggested.args.key.clone(),
        limits: needed.map(|limit| quota(&limit.limit)).collect(),
        allow: if except.is_empty() { Vec::new() } else { vec![paths(except.clone())] },
        skip_missing: route.lacking_key > 0,
        observe: true,
    })
}

fn comments(suggested: &LogSuggestion<'_>, route: &RouteSuggestion) -> Vec<String> {
    let requests = suggested.suggestion.counts.requests.max(1);
    let share = percent(route.requests as f64 / requests as f64);
    let path = route.route.path.as_ref();
    let title = path.map_or("requests of no other rule", |path| &path.template);
    let reason = path.map_or("", |path| &path.reason);
    let reason = if reason.is_empty() { String::new() } else { format!(" {reason}.") };
    let examples: Vec<String> = route.examples.iter().map(|example| excerpt(example)).collect();
    let examples = if path.is_some_and(|path| path.template == *examples.join("")) || examples.is_empty() {
        String::new()
    } else {
        format!(" Such as {}", examples.join(" "))
    };
    let mut text = vec![format!("{title}: {} requests ({share}).{reason}{examples}", route.requests)];
    text.extend(route.limits.iter().map(|limit| of_limit(route, limit)));
    text.push(touched(route));
    if route.lacking_key > 0 {
        text.push(format!(
            "{} requests have no key: they are not limited. Give them a key that all have, such as `{}|ip`.",
            route.lacking_key,
            suggested.args.key.first().map_or("", String::as_str),
        ));
    }
    text.iter().flat_map(|text| wrapped(text)).collect()
}

fn of_limit(route: &RouteSuggestion, suggestion: &LimitSuggestion) -> String {
    let LimitSuggestion { limit, p50, p90, p99, max, touched, implied_by } = suggestion;
    let window = span(limit);
    let peaks = format!("peaks in {window}: p50 {p50}, p90 {p90}, p99 {p99}, max {max}");
    match implied_by {
        Some(shorter) => format!("{peaks}; {limit} is left out: {shorter} implies it"),
        None => format!("{peaks}; {limit} touches {touched} of {}", clients(route.subjects)),
    }
}

fn touched(route: &RouteSuggestion) -> String {
    let RouteSuggestion { subjects, may_touch, touched, interval, .. } = route;
    let mut text = format!("touched: {touched} of {}", clients(*subjects));
    if *may_touch == 0 {
        text.push_str("; too few to touch any, so that a quota is the largest peak");
    }
    if let Some(interval) = interval {
        let (low, high) = (percent(interval.low), percent(interval.high));
        text.push_str(&format!("; of all clients {low} to {high}, with a probability of 95 %"));
    }
    text
}

fn clients(count: usize) -> String {
    if count == 1 { "1 client".to_owned() } else { format!("{count} clients") }
}

/// Name of a rule: the names of a template, joined.
fn name_of(template: &str) -> String {
    let parts: Vec<&str> = template.split('/').map(|part| part.trim_matches(['{', '}'])).collect();
    let name = parts.join("-").trim_matches('-').to_owned();
    if name.is_empty() { "root".to_owned() } else { name }
}

fn quota(limit: &Limit) -> Quota {
    Quota { count: limit.quota(), window_ms: limit.window_ms(), window: WindowKind::Sliding }
}

/// Window of a limit: `1 s` is written as in the limit, `s`.
fn span(limit: &Limit) -> String {
    let text = limit.to_string();
    let window = text.split_once('/').map_or("", |(_, window)| window);
    if window.starts_with(|c: char| c.is_ascii_digit()) { window.to_owned() } else { format!("1{window}") }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent >= 10.0 || percent == 0.0 {
        0
    } else if percent >= 1.0 {
        1
    } else {
        2
    };
    format!("{percent:.decimals$} %")
}

/// Lines of at most [`COLUMNS`] characters, broken between words.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > COLUMNS {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_named_after_their_templates() {
        let rows = [("/", "root"), ("/users/{id}/posts", "users-id-posts"), ("/a.b", "a.b")];
        for (template, name) in rows {
            assert_eq!(name_of(template), name);
        }
    }

    #[test]
    fn shares_have_two_digits() {
        let rows = [(0.0, "0 %"), (0.001, "0.10 %"), (0.0123, "1.2 %"), (0.25, "25 %"), (1.0, "100 %")];
        for (share, text) in rows {
            assert_eq!(percent(share), text);
        }
    }
}
