//! Rules: all of them in a table, and each with the peaks of its subjects.

use super::ReportView;
use super::element::{Emphasis, badge, card, figure, paragraph, section};
use super::peaks::{histogram, touched_by_quota};
use super::table::{HtmlCell, HtmlColumn, HtmlTable};
use crate::chart::{Tone, escaped, sparkline};
use crate::numbers::{count, range, share};
use crate::replay::report::{LimitReplay, ReplayMode, RuleReplay};

/// Most limits in the table of rules.
const MAX_ROWS: usize = 100;

/// Table of all rules.
pub(super) fn table(view: &ReportView<'_>) -> String {
    let columns = [
        HtmlColumn::text("Rule"),
        HtmlColumn::text("Limit"),
        HtmlColumn::number("Requests"),
        HtmlColumn::number("Refused"),
        HtmlColumn::number("Share"),
        HtmlColumn::number("Subjects touched"),
        HtmlColumn::number("Peak of quota"),
        HtmlColumn::chart("Peak over time"),
    ];
    let mut table = HtmlTable::new("Rules and their limits", columns);
    let rules = view.report.rules.iter();
    let mut limits: Vec<_> =
        rules.flat_map(|rule| rule.limits.iter().map(move |limit| (rule, limit))).collect();
    let left_out = limits.len().saturating_sub(MAX_ROWS);
    if left_out > 0 {
        limits.sort_by_key(|(_, limit)| std::cmp::Reverse((limit.denied + limit.would_deny, limit.requests)));
    }
    for (rule, limit) in limits.into_iter().take(MAX_ROWS) {
        table.add(cells(view, rule, limit));
    }
    if table.is_empty() {
        return String::new();
    }
    let note = match left_out {
        0 => String::new(),
        _ => paragraph(&format!("{} limits with fewer refusals are left out.", count(left_out as u64))),
    };
    section("rules", "Rules", &card(&format!("{}{note}", table.render())))
}

fn cells(view: &ReportView<'_>, rule: &RuleReplay, limit: &LimitReplay) -> Vec<HtmlCell> {
    let denied = limit.denied + limit.would_deny;
    let emphasis = emphasis(limit);
    let touched = match limit.touched.high {
        0 => "0".to_owned(),
        _ => format!("{} of {}", range(limit.touched), count(limit.subjects)),
    };
    let label = format!("highest peak over time, at most {}", range(limit.peak));
    let tone = if limit.peak.high > limit.quota { Tone::Denied } else { Tone::Allowed };
    vec![
        HtmlCell::html(format!("<code>{}</code> {}", escaped(&rule.name), mode_badge(rule))),
        HtmlCell::text(&limit_text(view, limit)),
        HtmlCell::text(&count(limit.requests)),
        HtmlCell::text(&count(denied)).with(emphasis),
        HtmlCell::text(&share(denied, limit.requests)).with(emphasis),
        HtmlCell::text(&touched),
        HtmlCell::text(&format!("{} of {}", range(limit.peak), count(limit.quota))),
        HtmlCell::html(sparkline(&limit.peak_timeline.0, tone, &label)),
    ]
}

fn emphasis(limit: &LimitReplay) -> Emphasis {
    match (limit.denied, limit.would_deny) {
        (0, 0) => Emphasis::Plain,
        (0, _) => Emphasis::Warning,
        _ => Emphasis::Bad,
    }
}

/// A badge for a rule that does not enforce its limits for everybody.
fn mode_badge(rule: &RuleReplay) -> String {
    match rule.mode {
        ReplayMode::Enforce => String::new(),
        ReplayMode::Observe => badge("observe mode", Emphasis::Warning),
        ReplayMode::Partly => badge("enforced for some", Emphasis::Warning),
    }
}

/// Limit with the requests that it applies to. The values of an override may identify a client.
fn limit_text(view: &ReportView<'_>, limit: &LimitReplay) -> String {
    match limit.applies_to.as_str() {
        _ if !limit.when.is_empty() => {
            format!("{} where {}", limit.limit, view.options.subjects.conditions(&limit.when))
        }
        "all requests" | "all others" => limit.limit.clone(),
        applies_to => format!("{} where {applies_to}", limit.limit),
    }
}

/// Sections of the rules in order of their refusals, as long as there is room. `room` is in bytes.
pub(super) fn details(view: &ReportView<'_>, room: usize) -> String {
    let mut rules: Vec<&RuleReplay> = view.report.rules.iter().filter(|rule| rule.requests > 0).collect();
    rules
        .sort_by_key(|rule| std::cmp::Reverse((rule.denied + rule.blocked + rule.would_deny, rule.requests)));
    let mut text = String::new();
    let mut left_out = 0_u64;
    for rule in rules {
        let detail = detail(view, rule);
        match text.len() + detail.len() <= room {
            true => text.push_str(&detail),
            false => left_out += 1,
        }
    }
    if left_out > 0 {
        let why = format!(
            "{} rules with fewer refusals are in the table only: the report would be too large.",
            count(left_out)
        );
        text.push_str(&paragraph(&why));
    }
    text
}

fn detail(view: &ReportView<'_>, rule: &RuleReplay) -> String {
    let mut facts = vec![
        ("Key", rule.key.clone()),
        ("Requests", count(rule.requests)),
        ("Subjects", count(rule.subjects)),
        ("Refused", refusals(rule)),
    ];
    if rule.blocked > 0 {
        facts.push(("Blocked", format!("{} by a deny list or a missing key", count(rule.blocked))));
    }
    let facts: String = facts
        .iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(value)))
        .collect();
    let limits: String = rule.limits.iter().map(|limit| charts(view, limit)).collect();
    format!(
        "<section class=\"rule\" aria-label=\"Rule {0}\">\n<h3 class=\"rule-title\"><code>{0}</code> {1}</h3>\n<dl class=\"facts\">\n{facts}</dl>\n{limits}</section>\n",
        escaped(&rule.name),
        mode_badge(rule),
    )
}

fn refusals(rule: &RuleReplay) -> String {
    match (rule.denied, rule.would_deny) {
        (denied, 0) => format!("{} {}", count(denied), share(denied, rule.requests)),
        (0, would) => format!("{} would be ({})", count(would), share(would, rule.requests)),
        (denied, would) => format!("{}, and {} would be", count(denied), count(would)),
    }
}

fn charts(view: &ReportView<'_>, limit: &LimitReplay) -> String {
    if limit.peaks.is_empty() {
        return String::new();
    }
    let title = limit_text(view, limit);
    let (peaks, curve) = (histogram(limit), touched_by_quota(limit));
    let note = "Peak: most requests of a subject in any window. Scale by orders of magnitude.";
    format!(
        "<div class=\"grid\">\n{}{}</div>\n",
        figure(&format!("{title}: subjects by their peak"), note, &peaks.svg()),
        figure(
            &format!("{title}: subjects that another quota would touch"),
            "Quotas from left to right. The dot is the quota of the policy.",
            &curve.svg()
        ),
    )
}
