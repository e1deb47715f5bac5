//! The document: its head, its content security policy, and its sections.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{MAX_BYTES, ReportView, comparison, log, over_time, rules, subjects, verdict};
use crate::chart::{COLOURS, STYLE, escaped};

/// Style of the page, after that of the charts.
const PAGE_STYLE: &str = include_str!("style.css");

/// Sections that the navigation leads to.
const SECTIONS: [(&str, &str); 8] = [
    ("over-time", "Over time"),
    ("rules", "Rules"),
    ("subjects", "Subjects"),
    ("against", "Compared"),
    ("algorithms", "Algorithms"),
    ("conditions", "Conditions"),
    ("peaks", "Peaks"),
    ("log", "Log"),
];

pub(super) fn document(view: &ReportView<'_>) -> String {
    let before = [
        verdict::render(view),
        comparison::thresholds(view),
        over_time::render(view),
        rules::table(view),
        subjects::render(view),
        comparison::against(view),
        comparison::algorithms(view),
    ]
    .concat();
    let after = log::render(view);
    let title = escaped(&format!("Replay of {}", view.report.policy));
    let style = format!("{COLOURS}{STYLE}{PAGE_STYLE}");
    let head = head(&title, &style);
    let room = MAX_BYTES.saturating_sub(head.len() + before.len() + after.len() + 8_192);
    let peaks = rules::details(view, room);
    let peaks = if peaks.is_empty() {
        peaks
    } else {
        super::element::section("peaks", "Peaks, rule by rule", &peaks)
    };
    let content = format!("{before}{peaks}{after}");
    let nav = navigation(&content);
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{head}<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n{LOGO}<h1>{title}</h1>\n{nav}</header>\n\
         <main id=\"content\" tabindex=\"-1\">\n{content}</main>\n\
         <footer>Made by <code>slidegate replay --html</code>, version {version}. This page loads nothing and runs no script.</footer>\n\
         </body>\n</html>\n"
    )
}

const LOGO: &str = "<svg class=\"logo\" viewBox=\"0 0 20 20\" width=\"28\" height=\"28\" aria-hidden=\"true\"><rect width=\"20\" height=\"20\" rx=\"4\"/><path d=\"M4 6h12M4 10h8M4 14h5\"/></svg>\n";

/// Head of the document. The style is allowed by its hash, and nothing else is.
fn head(title: &str, style: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(style));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n"
    )
}

/// Links to the sections that the page has.
fn navigation(content: &str) -> String {
    let present = SECTIONS.iter().filter(|(id, _)| content.contains(&format!("<section id=\"{id}\"")));
    let links: String = present.map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>\n")).collect();
    format!("<nav aria-label=\"Sections\">\n{links}</nav>\n")
}
