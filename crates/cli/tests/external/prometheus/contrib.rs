//! What the alerts, the dashboard and the pages name is there, in a server that has lived.

use serde_json::Value;

use crate::prometheus::expression::{Expression, dashboard, of_alerts, of_dashboard};
use crate::prometheus::lived::Lived;
use crate::prometheus::metric_names::{displayed_labels, metrics};
use crate::prometheus::read;
use crate::prometheus::samples::Samples;

/// What Prometheus adds to what it scrapes.
const OWN: [&str; 2] = ["instance", "job"];

/// Where else metrics are named. docs/metrics.md is made from the code.
const PAGES: [&str; 4] =
    ["docs/admin.md", "docs/operating.md", "docs/reload.md", "contrib/grafana/slidegate.json"];

/// Every metric exists, has the labels that it is asked for by, and these the values.
fn check(expression: &Expression, samples: &Samples) {
    let named = metrics(&expression.text);
    assert!(!named.is_empty(), "{expression:?}");
    for one in &named {
        assert!(samples.has(&one.metric), "there is no {}: {expression:?}", one.metric);
        for (label, values) in one.labels.iter().filter(|(label, _)| !OWN.contains(&label.as_str())) {
            let present = samples.values(&one.metric, label);
            let present = present.unwrap_or_else(|| panic!("{} has no label {label}", one.metric));
            let missing = values.iter().find(|value| !present.contains(*value));
            assert_eq!(missing, None, "{}: {label} is one of {present:?}", one.metric);
        }
    }
    for label in displayed_labels(&expression.text).into_iter().chain(displayed_labels(&expression.legend)) {
        let is_common = OWN.contains(&label.as_str())
            || named.iter().all(|one| samples.values(&one.metric, &label).is_some());
        assert!(is_common, "not all have the label {label}: {expression:?}");
    }
}

#[test]
fn all_that_is_named_is_there() {
    let lived = Lived::new();
    let scrapes = lived.scrape();
    let samples = Samples::of(scrapes.iter().map(String::as_str));
    let alerts = of_alerts();
    assert!(alerts.len() >= 10, "{}", alerts.len());
    let panels = of_dashboard();
    assert!(panels.len() >= 20, "{}", panels.len());
    for expression in alerts.iter().map(|(_, alert)| alert).chain(&panels) {
        check(expression, &samples);
    }
    // A page may have the beginning of a name, to look for several.
    for page in PAGES {
        for one in metrics(&read(page)) {
            let is_there = samples.names().any(|name| name.starts_with(&one.metric));
            assert!(is_there, "{page}: there is no {}", one.metric);
        }
    }
    // And the other way round: nothing is told that the reference does not have.
    let reference = read("docs/metrics.md");
    for name in samples.names() {
        let family = name.strip_suffix("_bucket").or_else(|| name.strip_suffix("_sum"));
        let family = family.or_else(|| name.strip_suffix("_count")).unwrap_or(name);
        assert!(reference.contains(&format!("| `{family}` |")), "{name} is not in docs/metrics.md");
    }
}

/// Every alert has a test in which it goes off.
#[test]
fn every_alert_is_tested() {
    let tests = read("contrib/prometheus/alerts_test.yaml");
    for (name, _) in of_alerts() {
        let cases =
            tests.split("- eval_time: ").filter(|case| case.contains(&format!("alertname: {name}\n")));
        assert!(cases.clone().any(|case| case.contains("exp_labels")), "{name} never goes off");
    }
}

/// Grafana takes it as it is: it asks for a data source, and no panel has another.
#[test]
fn the_dashboard_is_whole() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().is_some_and(|version| version >= 36));
    assert_eq!((dashboard["uid"].as_str(), dashboard["id"].as_u64()), (Some("slidegate"), None));
    let variables = dashboard["templating"]["list"].as_array().expect("variables");
    let source = variables.iter().find(|one| one["type"] == "datasource").expect("a data source");
    assert_eq!((&source["name"], &source["query"]), (&"datasource".into(), &"prometheus".into()));
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut ids: Vec<u64> = panels.iter().map(|panel| panel["id"].as_u64().expect("an id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), panels.len());
    for panel in panels.iter().filter(|panel| panel["type"] != "row") {
        assert_eq!(panel["datasource"]["uid"], "${datasource}", "{}", panel["title"]);
        assert!(panel["description"].as_str().is_some_and(|text| text.ends_with('.')), "{}", panel["title"]);
        let place =
            |side: &str| panel["gridPos"][side].as_u64().unwrap_or_else(|| panic!("{side} of {panel}"));
        assert!(place("x") + place("w") <= 24 && place("h") > 0, "{}", panel["title"]);
    }
    let is_other = |panel: &Value| panel["targets"].to_string().contains("\"uid\":\"slidegate");
    assert!(!panels.iter().any(is_other));
}
