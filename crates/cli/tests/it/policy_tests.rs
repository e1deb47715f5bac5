//! `slidegate test`: expectations hold where they should, and each kind of them can fail.

use std::fs;
use std::process::Command;

use serde_json::Value;
use slidegate_testkit::program::{Ended, ServerProcess, command, console, run, run_all};
use tempfile::TempDir;

const PAGE: &str = include_str!("../../../../docs/policy-tests.md");
const EXPLAIN_PAGE: &str = include_str!("../../../../docs/explain.md");

/// Rules that the expectations are about: an enforced one, one that observes, lists, and slots in flight.
const POLICY: &str = "
version: 1
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min] }
  - { name: everyone, key: [ip], limits: [3/min], mode: observe, deny: [{ user: eve }] }
  - { name: private, match: { path: /private }, key: [user], limits: [9/min], missing: deny, deny: [{ user: mallory }] }
  - { name: jobs, match: { path: /jobs }, limits: [{ in_flight: 1, hold: 30s }] }
";

/// A folder with the policy and a test file.
fn folder(tests: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.yaml"), POLICY).expect("it can be written");
    fs::write(folder.path().join("policy.test.yaml"), tests).expect("it can be written");
    folder
}

fn test_in(folder: &TempDir, more: &[&str]) -> Ended {
    let arguments = [&["test", "policy.test.yaml"], more].concat();
    command(&arguments).current_dir(folder.path()).output().expect("slidegate can be started").into()
}

/// A test file whose last step has this expectation.
fn file(steps: &str, expectation: &str) -> String {
    format!("policy: policy.yaml\ntests:\n  - name: it\n    steps:\n{steps}, expect: {expectation} }}\n")
}

const ALLOWED: &str = "      - { with: { path: /login, ip: 10.0.0.1 }";
const DENIED: &str = "      - { times: 2, with: { path: /login, ip: 10.0.0.1 } }
      - { at: 1s, with: { path: /login, ip: 10.0.0.1 }";
const OBSERVED: &str = "      - { times: 3, with: { ip: 10.0.0.1 } }
      - { with: { ip: 10.0.0.1 }";
const BLOCKED: &str = "      - { with: { path: /private, user: mallory }";
const LACKING: &str = "      - { with: { path: /private }";
const WOULD_BLOCK: &str = "      - { with: { path: /, ip: 10.0.0.1, user: eve }";
const TOO_MUCH: &str = "      - { cost: 3, with: { path: /login, ip: 10.0.0.1 }";
const IN_FLIGHT: &str = "      - { with: { path: /jobs } }
      - { at: 10s, with: { path: /jobs }";
const NOTHING: &str = "      - { with: { user: alice }";

/// Steps, an expectation that holds, one that does not, and the difference that is printed.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const ROWS: [Row; 27] = [
    (ALLOWED, "allowed", "denied", "denied", "allowed"),
    (ALLOWED, "allowed", "blocked", "blocked", "allowed"),
    (DENIED, "denied", "allowed", "allowed", "denied by login"),
    (DENIED, "denied", "blocked", "blocked", "denied by login"),
    (BLOCKED, "blocked", "denied", "denied", "blocked by private (deny list)"),
    (BLOCKED, "blocked", "allowed", "allowed", "blocked by private (deny list)"),
    (LACKING, "blocked", "denied", "denied", "blocked by private (missing key)"),
    (ALLOWED, "{ allowed: true }", "{ allowed: false }", "denied", "allowed"),
    (DENIED, "{ allowed: false }", "{ allowed: true }", "allowed", "denied by login"),
    (DENIED, "{ denied: [login] }", "{ denied: [login, everyone] }", "denied by login, everyone", "denied by login"),
    (DENIED, "{ denied: [login] }", "{ denied: [jobs] }", "denied by jobs", "denied by login"),
    (BLOCKED, "{ blocked: private }", "{ blocked: login }", "blocked by login", "blocked by private (deny list)"),
    (ALLOWED, "{ would_deny: [] }", "{ would_deny: [everyone] }", "would_deny everyone", "would_deny none"),
    (OBSERVED, "{ would_deny: [everyone] }", "{ would_deny: [] }", "would_deny none", "would_deny everyone"),
    (WOULD_BLOCK, "{ would_deny: [everyone] }", "{ would_deny: [] }", "would_deny none", "would_deny everyone"),
    (ALLOWED, "{ rules: [everyone, login] }", "{ rules: [login] }", "rules login", "rules login, everyone"),
    (ALLOWED, "{ remaining: 1 }", "{ remaining: 2 }", "remaining 2", "remaining 1"),
    (DENIED, "{ remaining: 0 }", "{ remaining: 1 }", "remaining 1", "remaining 0"),
    (ALLOWED, "{ remaining: { login: 1, everyone: 2 } }", "{ remaining: { everyone: 1 } }", "remaining of everyone 1", "remaining of everyone 2"),
    (ALLOWED, "{ remaining: { login: 1 } }", "{ remaining: { jobs: 1 } }", "remaining of jobs 1", "remaining of jobs none: the rule was not consulted"),
    (DENIED, "{ retry_after: 59s }", "{ retry_after: 60s }", "retry_after 60s", "retry_after 59s"),
    (DENIED, "{ retry_after: 59s }", "{ retry_after: 58999ms }", "retry_after 58999ms", "retry_after 59s"),
    (TOO_MUCH, "{ retry_after: never }", "{ retry_after: 60s }", "retry_after 60s", "retry_after never"),
    (DENIED, "{ retry_after: 59s }", "{ retry_after: never }", "retry_after never", "retry_after 59s"),
    (IN_FLIGHT, "{ retry_after_at_most: 20s }", "{ retry_after_at_most: 30s }", "retry_after_at_most 30s", "retry_after_at_most 20s"),
    (DENIED, "{ reset_after: 59s }", "{ reset_after: 60s }", "reset_after 60s", "reset_after 59s"),
    (NOTHING, "{ allowed: true, rules: [everyone] }", "{ remaining: 5 }", "remaining 5", "remaining none: no limit applies"),
];

#[test]
fn every_kind_of_expectation_can_fail() {
    for (steps, right, wrong, expected, actual) in ROWS {
        let passed = test_in(&folder(&file(steps, right)), &[]);
        assert_eq!(
            (passed.code, passed.stdout.contains("1 passed\n")),
            (Some(0), true),
            "{right}: {passed:?}"
        );
        let failed = test_in(&folder(&file(steps, wrong)), &[]);
        assert_eq!((failed.code, &*failed.stderr), (Some(1), ""), "{wrong}: {}", failed.stdout);
        let lines: Vec<&str> = failed.stdout.lines().map(str::trim).collect();
        let at = lines.iter().position(|line| *line == format!("expected  {expected}"));
        let at = at.unwrap_or_else(|| panic!("{wrong}: no `{expected}` in\n{}", failed.stdout));
        assert_eq!(lines[at + 1], format!("got       {actual}"), "{wrong}");
        let line = 4 + steps.lines().count();
        assert!(lines[at - 1].starts_with(&format!("policy.test.yaml:{line}: step")), "{}", failed.stdout);
        assert_eq!(lines.last(), Some(&"0 passed, 1 failed"));
    }
}

/// The outcome is that of every repetition, and the first that differs is named.
#[test]
fn repetitions_have_the_outcome_of_the_step() {
    let steps = "      - { times: 4, every: 10s, with: { path: /login, ip: 10.0.0.1 }";
    let ended = test_in(&folder(&file(steps, "allowed")), &[]);
    let expected = "policy.test.yaml:5: step 1 at 20s, request 3 of 4: ip=10.0.0.1 path=/login";
    assert!(ended.stdout.contains(expected), "{}", ended.stdout);
    let slow = steps.replace("10s", "30s");
    assert_eq!(test_in(&folder(&file(&slow, "{ allowed: true, remaining: 0 }")), &[]).code, Some(0));
}

/// Each test has its own store, and timestamps are times.
#[test]
fn tests_do_not_share_state() {
    let test = |name: &str| {
        format!(
            "  - name: {name}\n    start: 2026-03-01T00:00:00Z\n    steps:\n      - {{ times: 2, with: &r {{ path: /login, ip: 10.0.0.1 }}, expect: allowed }}\n      \
         - {{ at: 2026-03-01T01:00:59+01:00, with: *r, expect: {{ retry_after: 1s }} }}\n"
        )
    };
    let text = format!("policy: policy.yaml\ntests:\n{}{}", test("one"), test("other"));
    let ended = test_in(&folder(&text), &[]);
    assert_eq!((ended.code, ended.stdout.contains("2 passed")), (Some(0), true), "{ended:?}");
}

/// Mistake in a test file, and what is said of it.
#[test]
fn mistakes_are_found_before_anything_runs() {
    let with = "with: { path: /login }";
    let rows = [
        (format!("steps: [{{ {with}, expect: alowed }}]"), "did you mean `allowed`?"),
        (format!("steps: [{{ {with}, expct: allowed }}]"), "did you mean `expect`?"),
        (format!("steps: [{{ {with}, expect: {{ denied: [logn] }} }}]"), "did you mean `login`?"),
        (format!("steps: [{{ {with}, expect: {{ remaining: {{ logn: 1 }} }} }}]"), "did you mean `login`?"),
        (format!("steps: [{{ {with}, expect: {{ denied: login }} }}]"), "write `[login]`"),
        (format!("steps: [{{ {with}, expect: {{}} }}]"), "empty expectation"),
        (format!("steps: [{{ {with}, expect: {{ denied: [] }} }}]"), "empty list of rules"),
        (
            format!("steps: [{{ {with}, expect: {{ allowed: true, blocked: login }} }}]"),
            "contradictory outcomes",
        ),
        (
            format!("steps: [{{ {with}, expect: {{ retry_after: 1s, retry_after_at_most: 1s }} }}]"),
            "cannot be combined",
        ),
        (format!("steps: [{{ {with} }}]"), "the test expects nothing"),
        (
            format!("steps: [{{ at: 5s, {with} }}, {{ at: 1s, {with}, expect: allowed }}]"),
            "earlier than the one before",
        ),
        (
            format!("steps: [{{ times: 3, every: 4s, {with} }}, {{ at: 7s, {with}, expect: allowed }}]"),
            "earlier than the one before",
        ),
        (format!("steps: [{{ at: 5, {with}, expect: allowed }}]"), "`5s` for seconds"),
        (
            format!("steps: [{{ at: 2026-03-01T00:00:00, {with}, expect: allowed }}]"),
            "write a time with its offset",
        ),
        (format!("steps: [{{ times: 0, {with}, expect: allowed }}]"), "invalid number of requests"),
        (format!("steps: [{{ cost: -1, {with}, expect: allowed }}]"), "whole number"),
        ("steps: [{ with: [path], expect: allowed }]".to_owned(), "expected a mapping"),
        ("steps: [{ with: { path: [a] }, expect: allowed }]".to_owned(), "expected a value"),
        ("step: []".to_owned(), "did you mean `steps`?"),
    ];
    for (test, message) in rows {
        let folder = folder(&format!("policy: policy.yaml\ntests:\n  - name: it\n    {test}\n"));
        let ended = test_in(&folder, &[]);
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{test}");
        assert!(
            ended.stderr.contains(message) && ended.stderr.contains("policy.test.yaml:4:"),
            "{test}: {}",
            ended.stderr
        );
        let json = test_in(&folder, &["--json"]);
        let value: Value = serde_json::from_str(&json.stdout).expect("JSON");
        assert_eq!(
            (json.code, &value["valid"], &value["errors"][0]["line"]),
            (Some(2), &false.into(), &4.into()),
            "{test}"
        );
    }
    let files = [
        ("", "the file is empty"),
        ("policy: policy.yaml", "missing field `tests`"),
        ("policy: policy.yaml\ntests: []\n", "the file has no tests"),
    ];
    for (text, message) in files {
        let ended = test_in(&folder(text), &[]);
        assert_eq!((ended.code, ended.stderr.contains(message)), (Some(2), true), "{text}: {}", ended.stderr);
    }
    let no_policy = file(ALLOWED, "allowed").replace("policy: policy.yaml\n", "");
    let ended = test_in(&folder(&no_policy), &[]);
    assert_eq!((ended.code, ended.stderr.contains("names no policy")), (Some(2), true), "{}", ended.stderr);
    assert_eq!(test_in(&folder(&no_policy), &["--policy", "policy.yaml"]).code, Some(0));
    assert_eq!(test_in(&folder(&no_policy), &["--policy", "other.yaml"]).code, Some(2));
    assert_eq!(run(&["test", "/nowhere/policy.test.yaml"]).code, Some(2));
}

#[test]
fn the_example_policy_passes_its_tests() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.yaml"), run(&["example"]).stdout).expect("it can be written");
    fs::write(folder.path().join("policy.test.yaml"), run(&["example", "--tests"]).stdout)
        .expect("it can be written");
    let ended = test_in(&folder, &[]);
    assert_eq!((ended.code, ended.stdout.contains("no request matched")), (Some(0), false), "{ended:?}");
    // Whatever limit or condition changes, a test notices.
    let policy = fs::read_to_string(folder.path().join("policy.yaml")).expect("it is there");
    let changes = [
        ("[\"5/min\"]\n\n  # A burst", "[\"6/min\"]\n\n  # A burst"),
        ("method: POST, ", ""),
        ("\"10/s\", ", ""),
        ("600/min", "599/min"),
        ("api_key|ip", "ip"),
        ("[userId]", "[user]"),
        ("100/min", "99/min"),
        ("mode: observe", "mode: enforce"),
    ];
    for (from, to) in changes {
        let changed = policy.replacen(from, to, 1);
        assert_ne!(changed, policy, "{from}");
        fs::write(folder.path().join("policy.yaml"), changed).expect("it can be written");
        assert_eq!(test_in(&folder, &[]).code, Some(1), "no test notices {from} -> {to}");
    }
}

/// Results for programs: JSON, and JUnit XML that a real parser reads.
#[test]
fn programs_get_json_and_junit() {
    let text = file(ALLOWED, "denied").replace("name: it", "name: \"a <b> & \\\"c\\\" \\e[31m\"");
    let folder = folder(&text);
    let ended = test_in(&folder, &["--json", "--junit", "results.xml"]);
    let value: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    assert_eq!((ended.code, &value["passed"], &value["failed"]), (Some(1), &0.into(), &1.into()));
    let test = &value["files"][0]["tests"][0];
    let difference = &test["failures"][0]["mismatches"][0];
    assert_eq!((&difference["expected"], &difference["actual"]), (&"denied".into(), &"allowed".into()));
    assert_eq!(value["files"][0]["untested_rules"], serde_json::json!(["private", "jobs"]));
    let script = "import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
suite, = root.findall('testsuite')
case, = suite.findall('testcase')
failure, = case.findall('failure')
print(root.get('tests'), suite.get('failures'), case.get('name'), case.get('line'), failure.get('message'))";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(folder.path().join("results.xml"))
        .output()
        .expect("Python");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(printed, "1 1 a <b> & \"c\" \u{fffd}[31m 3 expected denied, got allowed\n", "{output:?}");
}

fn page_holds(page: &str, least: usize) {
    let steps = console(page, str::to_owned);
    assert!(steps.len() >= least, "{steps:?}");
    let folder = tempfile::tempdir().expect("a folder");
    run_all(&steps, &ServerProcess::start(&[]), folder.path()).expect("nothing there depends on the time");
}

#[test]
fn the_page_on_tests_tells_the_truth() {
    page_holds(PAGE, 5);
}

#[test]
fn the_page_on_explanations_tells_the_truth() {
    page_holds(EXPLAIN_PAGE, 3);
}

/// The test file on the page is one, and passes.
#[test]
fn the_file_on_the_page_passes() {
    let text = slidegate_testkit::program::blocks(PAGE, "yaml")[0];
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.yaml"), run(&["example"]).stdout).expect("it can be written");
    fs::write(folder.path().join("policy.test.yaml"), text).expect("it can be written");
    let ended = test_in(&folder, &[]);
    assert_eq!((ended.code, ended.stdout.contains("1 passed")), (Some(0), true), "{ended:?}");
}
