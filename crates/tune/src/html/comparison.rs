//! Comparisons: with another policy, with other algorithms, with the conditions of `--fail-if`.

use super::ReportView;
use super::element::{Emphasis, badge, card, paragraph, section};
use super::table::{HtmlCell, HtmlColumn, HtmlTable};
use crate::chart::escaped;
use crate::numbers::{count, percent, share};
use crate::replay::report::{
    AgainstReport, AlgorithmLimit, AlgorithmReplay, RuleCount, SubjectCount, ThresholdReport,
};

/// Most subjects of a list.
const MAX_SUBJECTS: usize = 20;

pub(super) fn against(view: &ReportView<'_>) -> String {
    let Some(against) = &view.report.against else { return String::new() };
    let decided = view.report.requests.decided;
    let newly_denied = PolicyDifference {
        title: "Newly refused",
        requests: against.newly_denied,
        by: &against.newly_denied_by,
        subjects: &against.newly_denied_subjects,
    };
    let newly_allowed = PolicyDifference {
        title: "Newly allowed",
        requests: against.newly_allowed,
        by: &against.newly_allowed_by,
        subjects: &against.newly_allowed_subjects,
    };
    let parts = [newly_denied, newly_allowed].map(|difference| difference.render(view, decided));
    let content =
        format!("{}<div class=\"grid\">\n{}</div>\n", paragraph(&summary(against, view)), parts.concat());
    section("against", "Compared with the other policy", &content)
}

fn summary(against: &AgainstReport, view: &ReportView<'_>) -> String {
    let refused = |counts: &crate::replay::report::ReplayCounts| count(counts.denied + counts.blocked);
    format!(
        "{} refuses {} requests, {} refuses {}.",
        against.policy,
        refused(&against.requests),
        view.report.policy,
        refused(&view.report.requests)
    )
}

/// Requests that only one of two policies refuses.
struct PolicyDifference<'a> {
    title: &'static str,
    requests: u64,
    by: &'a [RuleCount],
    subjects: &'a [SubjectCount],
}

impl PolicyDifference<'_> {
    fn render(&self, view: &ReportView<'_>, decided: u64) -> String {
        let mut content = format!(
            "<h3>{}</h3>\n<p class=\"value\">{} <small>{}</small></p>\n",
            self.title,
            count(self.requests),
            share(self.requests, decided)
        );
        let mut rules = HtmlTable::new(
            "By rule",
            [HtmlColumn::text("Rule"), HtmlColumn::number("Requests"), HtmlColumn::number("Subjects")],
        );
        for rule in self.by {
            rules.add([
                HtmlCell::code(&rule.rule),
                HtmlCell::text(&count(rule.requests)),
                HtmlCell::text(&count(rule.subjects)),
            ]);
        }
        let mut subjects = HtmlTable::new(
            "By subject",
            [HtmlColumn::text("Subject"), HtmlColumn::text("Rule"), HtmlColumn::number("Requests")],
        );
        for subject in self.subjects.iter().take(MAX_SUBJECTS) {
            let name = view.options.subjects.subject(&subject.key);
            subjects.add([
                HtmlCell::code(&name),
                HtmlCell::code(&subject.rule),
                HtmlCell::text(&count(subject.requests)),
            ]);
        }
        for table in [rules, subjects].iter().filter(|table| !table.is_empty()) {
            content.push_str(&table.render());
        }
        card(&content)
    }
}

pub(super) fn algorithms(view: &ReportView<'_>) -> String {
    let algorithms = &view.report.algorithms;
    let Some(first) = algorithms.first() else { return String::new() };
    let columns = algorithms.iter().map(|algorithm| HtmlColumn::number(algorithm.algorithm));
    let heads = [HtmlColumn::text("Limit"), HtmlColumn::number("Quota")];
    let mut table = HtmlTable::new("Algorithms", heads.into_iter().chain(columns));
    for (index, limit) in first.limits.iter().enumerate() {
        let window = limit.limit.split_whitespace().next().unwrap_or_default();
        let heads =
            [HtmlCell::code(&format!("{} {window}", limit.rule)), HtmlCell::text(&count(limit.quota))];
        table.add(heads.into_iter().chain(algorithms.iter().map(|algorithm| refusals(algorithm, index))));
    }
    let note = "The whole policy with all limits under one algorithm, and all rules enforced: requests that the limit \
        refuses, and the most requests of one subject in any window that all limits admit. A request that one limit \
        refuses counts under none. GCRA has the quota as its burst.";
    let content = format!("{}<p class=\"hint\">{note}</p>\n", table.render());
    section("algorithms", "Algorithms", &card(&content))
}

/// Refusals of a limit under an algorithm, and the most that it admits.
fn refusals(algorithm: &AlgorithmReplay, index: usize) -> HtmlCell {
    let Some(AlgorithmLimit { quota, denied, most_admitted, .. }) = algorithm.limits.get(index) else {
        return HtmlCell::text("");
    };
    let class = if most_admitted > quota { "bad" } else { "plain" };
    HtmlCell::html(format!(
        "{} <small class=\"most {class}\">at most {}</small>",
        count(*denied),
        count(*most_admitted)
    ))
}

pub(super) fn thresholds(view: &ReportView<'_>) -> String {
    let mut table = HtmlTable::new(
        "Conditions of --fail-if",
        [HtmlColumn::text("Condition"), HtmlColumn::number("Value"), HtmlColumn::text("Result")],
    );
    for threshold in &view.report.thresholds {
        let ThresholdReport { condition, holds, .. } = threshold;
        let (text, emphasis) = if *holds { ("fails", Emphasis::Bad) } else { ("passes", Emphasis::Good) };
        table.add([
            HtmlCell::html(format!("<code>{}</code>", escaped(condition))),
            HtmlCell::text(&value(threshold)),
            HtmlCell::html(badge(text, emphasis)),
        ]);
    }
    if table.is_empty() { String::new() } else { section("conditions", "Conditions", &card(&table.render())) }
}

/// Value that a condition compared.
fn value(threshold: &ThresholdReport) -> String {
    if threshold.condition.ends_with('%') { percent(threshold.value) } else { count(threshold.value as u64) }
}
