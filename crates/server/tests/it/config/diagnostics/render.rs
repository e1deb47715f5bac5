//! How errors look, as text and to `miette`.

use miette::{Diagnostic, JSONReportHandler};

use super::parse;

const BROKEN: &str = "version: 1\nrules:\n  - name: login\n    limit: [5/min]\n    mode: obsrve\n";

#[test]
fn as_text() {
    let errors = parse(BROKEN).expect_err("it is broken").to_string();
    let expected = "\
policy.yaml:4:5: unknown field `limit`: did you mean `limits`?
  4 |     limit: [5/min]
    |     ^^^^^
  a rule has the fields name, match, key, limits, missing, overrides, tiers, allow, deny, mode, on_store_error, refundable
policy.yaml:5:11: unknown value `obsrve`: did you mean `observe`?
  5 |     mode: obsrve
    |           ^^^^^^
  write one of enforce, observe";
    assert_eq!(errors, expected);
}

#[test]
fn a_long_line_is_cut_around_the_place() {
    let rules: String = (0..30).map(|number| format!("{{ name: a{number}, limits: [5/min] }}, ")).collect();
    let text = format!("version: 1\nrules: [{rules}{{ name: a }}]");
    let errors = parse(&text).expect_err("it is broken").to_string();
    let lines: Vec<&str> = errors.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, "policy.yaml:2:961: missing field `limits`"));
    assert!(lines.iter().all(|line| line.len() <= 110), "{errors}");
    let mark = lines[2].find('^').expect("it is marked");
    assert_eq!((&lines[1][mark..], &lines[2][mark..]), ("name: a }]", "^^^^"));
}

#[test]
fn terminals_are_safe_from_a_file() {
    let errors = parse("version: \"\u{1b}[31m\\e[31m\"").expect_err("it is broken").to_string();
    assert!(errors.chars().all(|c| c == '\n' || !c.is_control()), "{errors:?}");
}

#[test]
fn as_a_diagnostic() {
    let errors = parse(BROKEN).expect_err("it is broken");
    assert_eq!(errors.related().expect("all of them").count(), 2);
    for error in errors.related().expect("all of them") {
        assert!(error.help().is_some() && error.source_code().is_some());
        let label = error.labels().expect("it has a place").next().expect("one label");
        assert!(label.offset() + label.len() <= BROKEN.len());
    }
    let mut drawn = String::new();
    JSONReportHandler::new().render_report(&mut drawn, &errors).expect("it can be drawn");
    let drawn: serde_json::Value = serde_json::from_str(&drawn).expect("it is JSON");
    assert_eq!(drawn["related"][0]["filename"], "policy.yaml");
    assert_eq!(
        drawn["related"][0]["labels"][0]["span"]["offset"],
        BROKEN.find("limit:").expect("it is there")
    );
}
