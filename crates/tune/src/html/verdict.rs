//! The result in sentences, with the limits of its truth, and the most important numbers.

use super::ReportView;
use super::element::{Emphasis, list};
use crate::chart::escaped;
use crate::numbers::{count, range, share, span};
use crate::replay::Precision;
use crate::replay::report::CountRange;

/// Share of requests with status 429 above which retries distort the numbers.
const LIMITED_SHARE: f64 = 0.001;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let truth = limits_of_truth(view);
    format!(
        "<div class=\"verdict {}\">\n<p class=\"lead\">{}</p>\n{}</div>\n{}<details class=\"card\" open>\n<summary>What this report can say, and what it cannot</summary>\n{}</details>\n",
        emphasis(view).class(),
        escaped(&sentence(view)),
        list(&further(view)),
        tiles(view),
        list(&truth),
    )
}

/// Refused requests: denied or blocked.
fn refused(view: &ReportView<'_>) -> u64 {
    view.report.requests.denied + view.report.requests.blocked
}

fn emphasis(view: &ReportView<'_>) -> Emphasis {
    match (refused(view), view.report.requests.would_deny) {
        _ if view.report.thresholds.iter().any(|threshold| threshold.holds) => Emphasis::Bad,
        (0, 0) => Emphasis::Good,
        _ => Emphasis::Warning,
    }
}

/// The result in a sentence.
pub(super) fn sentence(view: &ReportView<'_>) -> String {
    let requests = &view.report.requests;
    let policy = &view.report.policy;
    let decided = count(requests.decided);
    let refused = refused(view);
    if requests.decided == 0 {
        return format!("There is no request to replay against {policy}.");
    }
    if refused == 0 {
        return format!("{policy} would have refused none of {decided} requests.");
    }
    let of = share(refused, requests.decided);
    format!("{policy} would have refused {} of {decided} requests ({of}).", count(refused))
}

fn further(view: &ReportView<'_>) -> Vec<String> {
    let requests = &view.report.requests;
    let mut sentences = Vec::new();
    let touched = touched(view);
    if touched.high > 0 {
        sentences.push(format!("Subjects that a limit touches: {}.", touched_by_rule(view)));
    }
    if requests.would_deny > 0 {
        sentences.push(format!(
            "Rules in observe mode would deny {} more ({}); today they only report it.",
            count(requests.would_deny),
            share(requests.would_deny, requests.decided)
        ));
    }
    if let Some(against) = &view.report.against {
        sentences.push(format!(
            "Compared with {}, {} requests are newly refused and {} newly allowed.",
            against.policy,
            count(against.newly_denied),
            count(against.newly_allowed)
        ));
    }
    if requests.unlimited > 0 {
        let of = share(requests.unlimited, requests.decided);
        sentences.push(format!("No rule matches {} requests ({of}).", count(requests.unlimited)));
    }
    sentences
}

/// Subjects that each rule touches, the first rules by name.
fn touched_by_rule(view: &ReportView<'_>) -> String {
    const MAX_RULES: usize = 5;
    let rules: Vec<_> = view.report.rules.iter().filter(|rule| rule.touched.high > 0).collect();
    let named = rules.iter().take(MAX_RULES);
    let mut parts: Vec<String> = named
        .map(|rule| format!("{} of {} under {}", range(rule.touched), count(rule.subjects), rule.name))
        .collect();
    if rules.len() > MAX_RULES {
        parts.push(format!("and those under {} more rules", rules.len() - MAX_RULES));
    }
    parts.join(", ")
}

/// Subjects that limits touch, rule by rule. A client is a subject of every rule that it meets.
fn touched(view: &ReportView<'_>) -> CountRange {
    let rules = view.report.rules.iter().map(|rule| rule.touched);
    rules.fold(CountRange::default(), |all, rule| CountRange {
        low: all.low + rule.low,
        high: all.high + rule.high,
    })
}

fn limits_of_truth(view: &ReportView<'_>) -> Vec<String> {
    let (report, requests) = (view.report, &view.report.requests);
    let mut sentences = vec![match report.precision {
        Precision::Exact => {
            "The log has the start of every request in milliseconds: the numbers are exact.".to_owned()
        }
        Precision::WholeSeconds => {
            "The log has whole seconds. The order of its lines places the requests within \
            a second; peaks and touched subjects are ranges that contain the truth."
                .to_owned()
        }
        Precision::WholeSecondEnds => {
            "The log has the end of every request in whole seconds, and no duration. The \
            ranges hold for ends; slow requests started earlier than they are counted."
                .to_owned()
        }
        Precision::Ends => {
            "The log has the end of every request, and no duration. Slow requests started earlier \
            than they are counted."
                .to_owned()
        }
    }];
    sentences.push(
        "A log is what happened without these limits. Clients that are refused wait, retry or leave, and no log \
         can say which."
            .to_owned(),
    );
    let limited = requests.limited_in_log;
    if limited as f64 > LIMITED_SHARE * report.read.lines.max(1) as f64 {
        sentences.push(format!(
            "{} requests ({}) were limited already (status 429). Their retries inflate the numbers.",
            count(limited),
            share(limited, report.read.lines)
        ));
    }
    if requests.skipped > 0 {
        sentences.push(format!("{} of these were left out.", count(requests.skipped)));
    }
    if report.read.files.iter().any(|file| file.is_server_assumed) {
        sentences.push(
            "nginx and Apache write such lines alike; nginx is assumed. For Apache, pass --server apache."
                .to_owned(),
        );
    }
    if report.read.unreadable > 0 {
        let of = share(report.read.unreadable, report.read.lines);
        sentences.push(format!("{} lines ({of}) could not be read.", count(report.read.unreadable)));
    }
    if report.read.late > 0 {
        sentences.push(format!(
            "{} lines came too late to be put in order, by at most {}.",
            count(report.read.late),
            span(report.read.latest_ms)
        ));
    }
    if requests.invalid > 0 {
        let invalid = count(requests.invalid);
        sentences.push(format!(
            "{invalid} requests have an ambiguous path or an invalid address: no rule judges them."
        ));
    }
    sentences.extend(report.notes.iter().cloned());
    sentences
}

fn tiles(view: &ReportView<'_>) -> String {
    let (report, requests) = (view.report, &view.report.requests);
    let refused = refused(view);
    let tone = |number: u64, emphasis: Emphasis| if number == 0 { Emphasis::Plain } else { emphasis };
    let duration = match (report.read.first_ms, report.read.last_ms) {
        (Some(first_ms), Some(last_ms)) => view.times.span(first_ms, last_ms),
        _ => "no time".to_owned(),
    };
    let files = match report.read.files.len() {
        1 => "1 file".to_owned(),
        files => format!("{files} files"),
    };
    let touched = touched(view);
    let all = [
        Tile { name: "Requests", value: count(requests.decided), more: duration, emphasis: Emphasis::Plain },
        Tile {
            name: "Refused",
            value: count(refused),
            more: format!("{} of all", or_none(share(refused, requests.decided))),
            emphasis: tone(refused, Emphasis::Bad),
        },
        Tile {
            name: "Would be refused",
            value: count(requests.would_deny),
            more: "by rules in observe mode".to_owned(),
            emphasis: tone(requests.would_deny, Emphasis::Warning),
        },
        Tile {
            name: "Subjects touched",
            value: range(touched),
            more: "counted rule by rule".to_owned(),
            emphasis: Emphasis::Plain,
        },
        Tile {
            name: "Lines",
            value: count(report.read.lines),
            more: format!("{files}, {} unreadable", count(report.read.unreadable)),
            emphasis: Emphasis::Plain,
        },
    ];
    let tiles: String = all.iter().map(Tile::render).collect();
    format!("<dl class=\"tiles\">\n{tiles}</dl>\n")
}

fn or_none(share: String) -> String {
    if share.is_empty() { "0%".to_owned() } else { share }
}

/// Number with its name.
struct Tile {
    name: &'static str,
    value: String,
    more: String,
    emphasis: Emphasis,
}

impl Tile {
    fn render(&self) -> String {
        format!(
            "<div class=\"tile {}\"><dt>{}</dt><dd class=\"value\">{}</dd><dd class=\"more\">{}</dd></div>\n",
            self.emphasis.class(),
            self.name,
            escaped(&self.value),
            escaped(&self.more)
        )
    }
}
