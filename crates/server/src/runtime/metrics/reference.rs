//! Test of the table in docs/metrics.md, which is generated from the code.

use std::path::Path;

use super::{connections, decisions, exporters, permits, policy, process, store};
use crate::telemetry::metrics::family::{MetricDescription, MetricKind, PREFIX};

/// All families, in the order of the page.
fn families() -> Vec<&'static dyn MetricDescription> {
    let parts = [
        process::FAMILIES,
        decisions::FAMILIES,
        policy::FAMILIES,
        permits::FAMILIES,
        store::FAMILIES,
        connections::FAMILIES,
        exporters::FAMILIES,
    ];
    parts.concat()
}

/// A row for every metric.
fn table() -> String {
    let mut text = String::from("| metric | kind | labels | |\n|---|---|---|---|\n");
    for family in families() {
        let kind = match family.metric().kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
            MetricKind::Info => "always 1",
        };
        let labels: Vec<String> = family.labels().iter().map(|label| format!("`{label}`")).collect();
        let (name, labels, help) = (full_name(family), labels.join(", "), family.metric().help);
        text.push_str(&format!("| `{name}` | {kind} | {labels} | {help} |\n"));
    }
    text
}

fn full_name(family: &dyn MetricDescription) -> String {
    [PREFIX, family.metric().name, family.metric().kind.suffix()].concat()
}

#[test]
fn the_page_has_every_metric() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/metrics.md");
    let page = std::fs::read_to_string(&path).expect("a page");
    let (before, rest) = page.split_once("| metric | kind |").expect("a table");
    let after = rest.split_once("\n\n").map_or_else(String::new, |(_, after)| format!("\n{after}"));
    let expected = format!("{before}{}{after}", table());
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, &expected).expect("the page can be written");
    }
    assert!(
        page == expected,
        "docs/metrics.md is old: UPDATE=1 cargo test -p slidegate-server --lib metrics"
    );
}

/// Naming conventions of Prometheus that promtool does not check.
#[test]
fn names_are_as_usual() {
    let mut names: Vec<String> = families().into_iter().map(full_name).collect();
    for (family, name) in families().into_iter().zip(&names) {
        let labels = family.labels().iter().copied();
        for word in labels.chain([name.as_str()]) {
            let plain = word.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
            assert!(plain && !word.starts_with('_'), "{name}: {word}");
        }
        assert_eq!(name.ends_with("_total"), family.metric().kind == MetricKind::Counter, "{name}");
        assert_eq!(name.ends_with("_info"), family.metric().kind == MetricKind::Info, "{name}");
        assert_eq!(name.ends_with("_timestamp_seconds"), family.metric().help.starts_with("When "), "{name}");
        assert!(family.metric().kind != MetricKind::Histogram || name.ends_with("_seconds"), "{name}");
        assert!(
            !family.metric().help.contains(['\n', '\\', '|']) && !family.metric().help.ends_with('.'),
            "{name}"
        );
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "no name is taken twice");
}
