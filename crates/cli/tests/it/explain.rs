//! `slidegate explain`: the named reason is the true one. Whoever changes that value sees the rule apply.

use serde_json::Value;
use slidegate_testkit::program::{Ended, file, path, run};

/// Rule with this body, request, reason, change of the request, and what is printed then.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// The rule applies.
const APPLIES: &str = "rule: applies";

/// Conditions of `match`.
#[rustfmt::skip]
const CONDITIONS: [Row; 26] = [
    ("match: {method: POST}", "method=GET", "method is GET, the rule requires POST", "method=POST", APPLIES),
    ("match: {method: POST}", "method=GET", "method is GET, the rule requires POST", "method=post", APPLIES),
    ("match: {method: POST}", "path=/", "`method` is missing, the rule requires POST", "method=POST", APPLIES),
    ("match: {method: POST}", "method=", "`method` is empty, the rule requires POST", "method=POST", APPLIES),
    ("match: {method: [PUT, POST]}", "method=GET", "method is GET, the rule requires PUT or POST", "method=PUT", APPLIES),
    ("match: {method: {prefix: P}}", "method=GET", "method is GET, the rule requires a value that starts with P", "method=patch", APPLIES),
    ("match: {path: /login}", "path=/logout", "path is /logout, the rule requires /login", "path=/login", APPLIES),
    ("match: {path: /login}", "path=/login/x", "path is /login/x, the rule requires /login", "path=/login/", APPLIES),
    ("match: {path: /login}", "path=/LOGIN", "path is /LOGIN, the rule requires /login", "path=/x/../login", APPLIES),
    ("match: {path: /login}", "user=alice", "`path` is missing, the rule requires /login", "path=/login", APPLIES),
    ("match: {path: [/login, /signin]}", "path=/", "path is /, the rule requires /login or /signin", "path=/signin", APPLIES),
    ("match: {path: '/users/{id}'}", "path=/users", "path is /users, the rule requires /users/{id}", "path=/users/42", APPLIES),
    ("match: {path: '/users/{id}'}", "path=/users/4/x", "path is /users/4/x, the rule requires /users/{id}", "path=/users/4", APPLIES),
    ("match: {path: '/files/{*rest}'}", "path=/files", "path is /files, the rule requires /files/{*rest}", "path=/files/a/b", APPLIES),
    ("match: {path: {prefix: /api}}", "path=/apis/1", "path is /apis/1, the rule requires a value that starts with /api", "path=/api/1", APPLIES),
    ("match: {path: '/users/{id}', id: 7}", "path=/users/8", "id is 8, the rule requires 7", "path=/users/7", APPLIES),
    ("match: {ip: 10.0.0.0/8}", "ip=11.0.0.1", "ip is 11.0.0.1, the rule requires 10.0.0.0/8", "ip=10.1.2.3", APPLIES),
    ("match: {ip: 10.0.0.0/8}", "path=/", "`ip` is missing, the rule requires 10.0.0.0/8", "ip=::ffff:10.0.0.1", APPLIES),
    ("match: {ip: [10.0.0.1, '2001:db8::/32']}", "ip=2001:db9::1", "ip is 2001:db9::1, the rule requires 10.0.0.1 or 2001:db8::/32", "ip=2001:db8::9", APPLIES),
    ("match: {org: acme}", "org=ACME", "org is ACME, the rule requires acme", "org=acme", APPLIES),
    ("match: {org: acme}", "user=acme", "`org` is missing, the rule requires acme", "org=acme", APPLIES),
    ("match: {plan: 1}", "plan=01", "plan is 01, the rule requires 1", "plan=1", APPLIES),
    ("match: {beta: true}", "beta=yes", "beta is yes, the rule requires true", "beta=true", APPLIES),
    ("match: {user: {prefix: bot-}}", "user=alice", "user is alice, the rule requires a value that starts with bot-", "user=bot-7", APPLIES),
    ("match: {user: ''}", "user=alice", "user is alice, the rule requires \"\"", "user=", APPLIES),
    ("match: {user: alice}", "user=\u{1b}[2J", "user is \\u{1b}[2J, the rule requires alice", "user=alice", APPLIES),
];

/// Several conditions at once: all of those that fail are named, and no other.
#[rustfmt::skip]
const SEVERAL: [Row; 6] = [
    ("match: {method: POST, path: /login}", "method=GET path=/login", "method is GET, the rule requires POST", "method=POST", APPLIES),
    ("match: {method: POST, path: /login}", "method=POST path=/", "path is /, the rule requires /login", "path=/login", APPLIES),
    ("match: {method: POST, path: /login, ip: 10.0.0.0/8}", "method=POST path=/login ip=9.9.9.9", "ip is 9.9.9.9, the rule requires 10.0.0.0/8", "ip=10.0.0.1", APPLIES),
    ("match: {ip: 10.0.0.0/8, org: acme}", "ip=10.0.0.1 org=x", "org is x, the rule requires acme", "org=acme", APPLIES),
    ("match: {ip: 10.0.0.0/8, org: acme}", "ip=9.9.9.9 org=acme", "ip is 9.9.9.9, the rule requires 10.0.0.0/8", "ip=10.9.9.9", APPLIES),
    ("match: {org: acme, user: alice}", "org=acme", "`user` is missing, the rule requires alice", "user=alice", APPLIES),
];

/// Keys, lists, modes and limit sets.
#[rustfmt::skip]
const PARTS: [Row; 24] = [
    ("key: [api_key|ip]", "ip=203.0.113.7", "key: ip 203.0.113.7 (`api_key` is missing: the rule falls back to `ip`)", "api_key=k1", "key: api_key k1"),
    ("key: [api_key|ip]", "ip=203.0.113.7 api_key=", "key: ip 203.0.113.7 (`api_key` is missing: the rule falls back to `ip`)", "api_key=k1", "key: api_key k1"),
    ("key: [a|b|c]", "c=1", "key: c 1 (`a` and `b` are missing: the rule falls back to `c`)", "b=2", "key: b 2 (`a` is missing: the rule falls back to `b`)"),
    ("key: [user]", "ip=10.0.0.1", "key: `user` is missing: such requests share one bucket", "user=alice", "key: user alice"),
    ("key: [user|org]", "ip=10.0.0.1", "key: `user` and `org` are missing: such requests share one bucket", "org=acme", "key: org acme (`user` is missing: the rule falls back to `org`)"),
    ("key: [ip]", "ip=2001:db8::7", "key: ip 2001:db8::/64", "ip=::ffff:192.0.2.1", "key: ip 192.0.2.1"),
    ("key: [user], missing: skip", "ip=10.0.0.1", "rule: does not limit it: it lacks the key", "user=alice", APPLIES),
    ("key: [user], missing: skip", "ip=10.0.0.1", "key: `user` is missing", "user=alice", "key: user alice"),
    ("key: [user], missing: deny", "ip=10.0.0.1", "rule: blocks it: it lacks the key", "user=alice", APPLIES),
    ("key: [user], missing: deny, mode: observe", "ip=10.0.0.1", "rule: would block it, in observe mode: it lacks the key", "user=alice", "rule: applies in observe mode: it denies nothing"),
    ("allow: [{ip: 10.0.0.0/8}]", "ip=10.0.0.1", "on the allow list: ip is 10.0.0.0/8", "ip=11.0.0.1", "not on the allow list: ip is 11.0.0.1, the list requires 10.0.0.0/8"),
    ("allow: [{ip: 10.0.0.0/8}]", "ip=10.0.0.1", "rule: does not limit it: it is on the allow list", "ip=11.0.0.1", APPLIES),
    ("allow: [{user: root, ip: 10.0.0.1}]", "user=root ip=10.0.0.2", "not on the allow list: ip is 10.0.0.2, the list requires 10.0.0.1", "ip=10.0.0.1", "on the allow list: user is root and ip is 10.0.0.1"),
    ("deny: [{user: mallory}]", "user=mallory", "rule: blocks it: it is on the deny list", "user=alice", APPLIES),
    ("deny: [{user: mallory}]", "user=mallory", "on the deny list: user is mallory", "user=eve", "not on the deny list: user is eve, the list requires mallory"),
    ("deny: [{user: mallory}], mode: observe", "user=mallory", "rule: would block it, in observe mode: it is on the deny list", "user=eve", "rule: applies in observe mode: it denies nothing"),
    ("mode: {enforce_for: [{org: acme}]}", "org=x", "mode: observed, org is x, the list requires acme", "org=acme", "mode: enforced, org is acme"),
    ("mode: {enforce_for: [{org: acme}]}", "org=x", "rule: applies in observe mode: it denies nothing", "org=acme", APPLIES),
    ("key: [user], mode: {enforce: 50%}", "user=d", "mode: observed, this key is not among the 50% that are enforced", "user=c", "mode: enforced, this key is among the 50% that are enforced"),
    ("tiers: {gold: [9/s]}", "tier=lead", "not the limits where tier is gold: tier is lead, they require gold", "tier=gold", "limits: 9/s (tier is gold)"),
    ("tiers: {gold: [9/s]}", "user=alice", "not the limits where tier is gold: `tier` is missing, they require gold", "tier=gold", "limits: 9/s (tier is gold)"),
    ("overrides: [{when: {org: acme}, limits: [7/s]}]", "org=x", "not the limits where org is acme: org is x, they require acme", "org=acme", "limits: 7/s (org is acme)"),
    ("overrides: [{when: {org: acme}, limits: [7/s]}], tiers: {gold: [9/s]}", "org=x tier=gold", "limits: 9/s (tier is gold)", "org=acme", "limits: 7/s (org is acme)"),
    ("overrides: [{when: {ip: 10.0.0.0/8}, limits: [7/s]}, {when: {org: acme}, limits: [8/s]}]", "ip=11.0.0.1 org=acme", "not the limits where ip is 10.0.0.0/8: ip is 11.0.0.1, they require 10.0.0.0/8", "ip=10.0.0.1", "limits: 7/s (ip is 10.0.0.0/8)"),
];

fn explain(body: &str, attributes: &[String], more: &[&str]) -> Ended {
    let policy = file(&format!("version: 1\nrules:\n  - {{name: rule, limits: [5/min], {body}}}\n"));
    let attributes = attributes.iter().map(String::as_str);
    run(&["explain", "--policy", path(&policy)]
        .into_iter()
        .chain(attributes)
        .chain(more.iter().copied())
        .collect::<Vec<_>>())
}

/// The attributes of a request, of which one is changed or added.
fn changed(request: &str, change: &str) -> Vec<String> {
    let name = change.split('=').next().unwrap_or_default();
    let others = request.split(' ').filter(|attribute| attribute.split('=').next() != Some(name));
    others.chain([change]).map(str::to_owned).collect()
}

/// The trimmed lines that are printed.
fn lines(ended: &Ended) -> Vec<&str> {
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{}", ended.stdout);
    ended.stdout.lines().map(str::trim).collect()
}

#[test]
fn the_named_reason_is_the_true_one() {
    let rows: Vec<Row> = [&CONDITIONS[..], &SEVERAL, &PARTS].concat();
    assert!(rows.len() >= 50);
    for (body, request, reason, change, result) in rows {
        let before = explain(body, &request.split(' ').map(str::to_owned).collect::<Vec<_>>(), &[]);
        assert!(lines(&before).contains(&reason), "{body}, {request}: no `{reason}` in\n{}", before.stdout);
        assert!(!lines(&before).contains(&result), "{body}, {request}: `{result}` before the change");
        let after = explain(body, &changed(request, change), &[]);
        assert!(lines(&after).contains(&result), "{body}, {change}: no `{result}` in\n{}", after.stdout);
        assert!(!lines(&after).contains(&reason), "{body}, {change}: still `{reason}`");
    }
}

/// One reason for every condition that fails, and none for the others.
#[test]
fn conditions_that_hold_are_not_named() {
    for (body, request, reason, ..) in SEVERAL {
        let ended = explain(body, &request.split(' ').map(str::to_owned).collect::<Vec<_>>(), &[]);
        assert_eq!(lines(&ended)[1..], ["", "rule: does not match", reason], "{body}");
    }
}

#[test]
fn the_example_policy_is_the_default() {
    let ended = run(&["explain", "method=GET", "path=/login", "ip=203.0.113.7"]);
    let expected = "\
1 of 4 rules applies

login: does not match
  method is GET, the rule requires POST

search: does not match
  path is /login, the rule requires /v1/search/{*rest}

rlaas: does not match
  path is /login, the rule requires /check

everyone: applies in observe mode: it denies nothing
  key: ip 203.0.113.7
  limits: 100/min
";
    assert_eq!((ended.code, &*ended.stdout, &*ended.stderr), (Some(0), expected, ""));
}

/// A path that servers read differently matches by any reading.
#[test]
fn the_reading_that_matches_is_printed() {
    let ended = explain("match: {path: /admin}", &["path=/x/..;/admin;v=1".to_owned()], &[]);
    assert!(lines(&ended).contains(&"path as some servers read it: /admin"), "{}", ended.stdout);
}

#[test]
fn programs_get_json() {
    let ended = explain("match: {method: POST}", &["method=GET".to_owned()], &["--json"]);
    let value: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let rule = &value["rules"][0];
    assert_eq!((ended.code, &rule["rule"], &rule["effect"]), (Some(0), &"rule".into(), &"no_match".into()));
    let failed =
        serde_json::json!([{ "attribute": "method", "value": "GET", "requirement": { "is": ["POST"] } }]);
    assert_eq!(rule["failed"], failed);
}

#[test]
fn a_rule_that_blocks_is_named_first() {
    let ended = explain("deny: [{user: mallory}]", &["user=mallory".to_owned()], &[]);
    assert_eq!(lines(&ended)[0], "blocked by the rule rule, whatever its limits");
}

/// Exit codes as the help says.
#[test]
fn what_cannot_be_explained_is_an_error() {
    let invalid = explain("key: [ip]", &["ip=nonsense".to_owned()], &[]);
    assert_eq!(invalid.code, Some(2));
    assert!(
        invalid.stdout.starts_with("invalid request: invalid IP address `nonsense`"),
        "{}",
        invalid.stdout
    );
    let policy = explain("kye: [ip]", &[], &[]);
    assert_eq!(
        (policy.code, policy.stderr.contains("did you mean `key`?")),
        (Some(1), true),
        "{}",
        policy.stderr
    );
    assert_eq!(explain("key: [ip]", &["nonsense".to_owned()], &[]).code, Some(2));
    let long = explain("key: [ip]", &[format!("user={}", "x".repeat(5_000))], &[]);
    assert_eq!((long.code, long.stderr.contains("too long")), (Some(2), true), "{}", long.stderr);
    let odd = explain("key: [ip]", &["path=/a;b%3Bc%2Fd\\e%5Cf/%67/../h".to_owned()], &[]);
    assert_eq!((odd.code, odd.stderr.contains("ambiguous path")), (Some(2), true), "{}", odd.stderr);
}
