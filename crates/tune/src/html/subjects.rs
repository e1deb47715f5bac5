//! Subjects with the most denials.

use super::ReportView;
use super::element::{card, section};
use super::mask::SubjectStyle;
use super::table::{HtmlCell, HtmlColumn, HtmlTable};
use crate::chart::{Tone, escaped, sparkline};
use crate::numbers::{count, share};
use crate::replay::report::DeniedSubject;

/// Most subjects of a report.
const MAX_SUBJECTS: usize = 50;

pub(super) fn render(view: &ReportView<'_>) -> String {
    let columns = [
        HtmlColumn::text("Subject"),
        HtmlColumn::text("Rule"),
        HtmlColumn::number("Refused"),
        HtmlColumn::number("Requests"),
        HtmlColumn::number("Share"),
        HtmlColumn::text("First refusal"),
        HtmlColumn::chart("Refusals over time"),
    ];
    let mut table = HtmlTable::new("Subjects with the most refusals", columns);
    for subject in view.report.most_denied.iter().take(MAX_SUBJECTS) {
        table.add(cells(view, subject));
    }
    if table.is_empty() {
        return String::new();
    }
    let note = match view.options.subjects.style() {
        SubjectStyle::Masked => {
            "Masked: networks instead of addresses, hashes that hold for this report only instead of the rest."
        }
        SubjectStyle::Plain => "Subjects are as in the log: this page has personal data.",
    };
    let content = format!("{}<p class=\"hint\">{note}</p>\n", table.render());
    section("subjects", "Subjects refused most", &card(&content))
}

fn cells(view: &ReportView<'_>, subject: &DeniedSubject) -> Vec<HtmlCell> {
    let buckets = view.report.axis.map_or(0, |axis| axis.buckets);
    // Values at the end may be missing.
    let mut values = subject.timeline.0.clone();
    values.resize(buckets.max(values.len()), 0);
    let label = format!("{} refusals over time", count(subject.denied));
    vec![
        HtmlCell::code(&view.options.subjects.subject(&subject.key)),
        HtmlCell::html(format!("<code>{}</code>", escaped(&subject.rule))),
        HtmlCell::text(&count(subject.denied)),
        HtmlCell::text(&count(subject.requests)),
        HtmlCell::text(&share(subject.denied, subject.requests)),
        HtmlCell::text(&view.times.clock(subject.first_denial_ms)),
        HtmlCell::html(sparkline(&values, Tone::Denied, &label)),
    ]
}
