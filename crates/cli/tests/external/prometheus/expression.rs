//! The expressions of `contrib/`, one after the other.

use serde_json::Value;

use crate::prometheus::read;

/// An expression, and what is shown with what it gives.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) text: String,
    pub(crate) legend: String,
}

pub(crate) fn dashboard() -> Value {
    serde_json::from_str(&read("contrib/grafana/slidegate.json")).expect("the dashboard is JSON")
}

/// What the panels of the dashboard ask for.
pub(crate) fn of_dashboard() -> Vec<Expression> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().expect("panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let text = |target: &Value, field: &str| target[field].as_str().unwrap_or_default().to_owned();
    targets
        .map(|target| Expression { text: text(target, "expr"), legend: text(target, "legendFormat") })
        .collect()
}

/// The alerts: each with all that is written between its name and the next one's.
pub(crate) fn of_alerts() -> Vec<(String, Expression)> {
    let file = read("contrib/prometheus/alerts.yaml");
    let alerts = file.split("- alert: ").skip(1).map(|alert| {
        let (name, rest) = alert.split_once('\n').expect("a name");
        let (text, legend) = rest.split_once("annotations:").expect("annotations");
        (name.to_owned(), Expression { text: text.to_owned(), legend: legend.to_owned() })
    });
    alerts.collect()
}
