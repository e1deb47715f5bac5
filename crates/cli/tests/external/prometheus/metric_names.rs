//! The metrics and labels that an expression of Prometheus names.

/// A metric of ours, and what is asked of its labels.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub(crate) metric: String,
    /// A label and the values that are asked for, none if any will do.
    pub(crate) labels: Vec<(String, Vec<String>)>,
}

/// Every metric in a text, with the matchers that follow it.
pub(crate) fn metrics(text: &str) -> Vec<Named> {
    let starts = text.match_indices("slidegate_").map(|(at, _)| &text[at..]);
    let found = starts.map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
        let matchers = rest[end..].strip_prefix('{').and_then(|rest| rest.split_once('}'));
        let labels = matchers.map_or_else(Vec::new, |(inside, _)| inside.split(',').map(matcher).collect());
        Named { metric: rest[..end].to_owned(), labels }
    });
    found.collect()
}

/// `label="value"` or `label=~"one|other"`; what a variable of Grafana stands for is any value, and
/// so is all but what `label!~"…"` says.
fn matcher(text: &str) -> (String, Vec<String>) {
    if let Some((label, _)) = text.split_once('!') {
        return (label.trim().to_owned(), Vec::new());
    }
    let (label, value) = text.split_once('=').unwrap_or_else(|| panic!("{text} is no matcher"));
    let value = value.trim_start_matches('~').trim_matches('"');
    let values =
        if value.starts_with('$') { Vec::new() } else { value.split('|').map(str::to_owned).collect() };
    (label.trim().to_owned(), values)
}

/// The labels that an expression or a legend groups by, or shows.
pub(crate) fn displayed_labels(text: &str) -> Vec<String> {
    let groups = text.split("by (").skip(1).filter_map(|rest| rest.split_once(')'));
    let groups = groups.flat_map(|(labels, _)| labels.split(',').map(|label| label.trim().to_owned()));
    let legends = text.split("{{").skip(1).filter_map(|rest| rest.split_once("}}"));
    let legends = legends.map(|(label, _)| label.trim().trim_start_matches("$labels.").to_owned());
    groups.chain(legends.filter(|label| !label.starts_with('$'))).collect()
}

#[test]
fn all_of_an_expression_is_found() {
    let text = r#"sum by (rule, le) (rate(slidegate_a_total{instance=~"$instance",outcome=~"x|y",limit!~"[(].*"}[5m])) / slidegate_b > 1 {{limit}} {{ $labels.route }} {{ $value | humanize }}"#;
    let labels = vec![
        ("instance".to_owned(), Vec::new()),
        ("outcome".to_owned(), vec!["x".to_owned(), "y".to_owned()]),
        ("limit".to_owned(), Vec::new()),
    ];
    let expected = [
        Named { metric: "slidegate_a_total".to_owned(), labels },
        Named { metric: "slidegate_b".to_owned(), labels: Vec::new() },
    ];
    assert_eq!(metrics(text), expected);
    assert_eq!(displayed_labels(text), ["rule", "le", "limit", "route"]);
}
