//! What is different between two policies, line by line.

use slidegate::policy::Policy;
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::policies::file;

fn parsed(rules: &str) -> Policy {
    let text = format!("version: 1\nrules:\n{rules}");
    Policy::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"))
}

fn changes(from: &str, to: &str) -> Vec<String> {
    parsed(from).diff(&parsed(to)).iter().map(ToString::to_string).collect()
}

/// Two rules, and what is said of the change from one to the other.
#[test]
fn every_change_of_a_rule_is_reported() {
    let rows: &[(&str, &str, &[&str])] = &[
        ("limits: [5/min]", "limits: [5/min]", &[]),
        ("limits: [5/min]", "limits: [10/min, 100/h]", &["limits 5/min -> 10/min, 100/h"]),
        (
            "limits: [5/min]",
            "limits: [{ quota: 5, window: 1min, resolution: 1s }]",
            &["limits 5/min (1 ms) -> 5/min (1000 ms)"],
        ),
        ("limits: [5/min]", "limits: [5/min], match: { path: /a }", &["match all requests -> path is /a"]),
        (
            "limits: [5/min], match: { api_key: one }",
            "limits: [5/min], match: { api_key: two }",
            &["match changed"],
        ),
        ("limits: [5/min], key: [ip]", "limits: [5/min], key: [user]", &["key ip -> user"]),
        (
            "limits: [5/min], overrides: [{ when: { user: a }, limits: [6/min] }]",
            "limits: [5/min], overrides: [{ when: { user: b }, limits: [7/min] }]",
            &["override where user is … was removed", "override where user is … was added: 7/min"],
        ),
        (
            "limits: [5/min], overrides: [{ when: { ip: 10.0.0.1 }, limits: [6/min] }]",
            "limits: [5/min], overrides: [{ when: { ip: 10.0.0.1 }, limits: [7/min] }]",
            &["override where ip is 10.0.0.1: limits 6/min -> 7/min"],
        ),
        (
            "limits: [5/min], overrides: [{ when: { a: x }, limits: [6/min] }, { when: { b: x }, limits: [7/min] }]",
            "limits: [5/min], overrides: [{ when: { b: x }, limits: [7/min] }, { when: { a: x }, limits: [6/min] }]",
            &["overrides are in another order"],
        ),
        (
            "limits: [5/min], tiers: { gold: [6/min], lead: [1/min] }",
            "limits: [5/min], tiers: { gold: [7/min], tin: [2/min] }",
            &["tier lead was removed", "tier gold: limits 6/min -> 7/min", "tier tin was added: 2/min"],
        ),
        (
            "limits: [5/min], allow: [{ ip: 10.0.0.1 }], deny: [{ user: m }]",
            "limits: [5/min], allow: [{ ip: 10.0.0.2 }]",
            &[
                "allow where ip is 10.0.0.1 was removed",
                "allow where ip is 10.0.0.2 was added",
                "deny where user is … was removed",
            ],
        ),
        (
            "limits: [5/min]",
            "limits: [5/min], mode: observe",
            &["mode enforced -> observed: counts, but denies nothing"],
        ),
        (
            "limits: [5/min], mode: { enforce_for: [{ org: a }] }",
            "limits: [5/min], mode: { enforce_for: [{ org: a }, { path: /b }] }",
            &["mode: enforced where path is /b was added"],
        ),
        ("limits: [5/min]", "limits: [5/min], refundable: true", &["refundable false -> true"]),
        (
            "limits: [5/min]",
            "limits: [5/min], on_store_error: deny",
            &["on_store_error local limit (quota ÷ instances) -> deny all requests"],
        ),
    ];
    for (from, to, expected) in rows {
        let rule = |fields: &str| format!("  - {{ name: login, {fields} }}\n");
        let expected: Vec<String> = expected.iter().map(|what| format!("rule login: {what}")).collect();
        assert_eq!(changes(&rule(from), &rule(to)), expected, "{from} to {to}");
    }
}

#[test]
fn added_and_removed_rules_are_reported() {
    let [a, b, c] = ["a", "b", "c"].map(|name| format!("  - {{ name: {name}, limits: [5/min, 9/h] }}\n"));
    assert_eq!(
        changes(&format!("{a}{b}"), &format!("{c}{b}")),
        ["rule a was removed", "rule c was added: 5/min, 9/h"]
    );
    assert_eq!(changes(&format!("{a}{b}"), &format!("{b}{a}")), ["the rules are in another order"]);
    assert_eq!(changes(&format!("{a}{b}"), &format!("{b}{c}{a}")).len(), 2);
}

/// One bit of the IPv6 prefix changes whom every rule counts together.
#[test]
fn a_changed_prefix_is_reported() {
    let policy = |prefix| {
        let text =
            format!("version: 1\nipv6_prefix: {prefix}\nrules: [{{ name: a, key: [ip], limits: [1/s] }}]");
        Policy::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"))
    };
    let lines: Vec<String> = policy(64).diff(&policy(56)).iter().map(ToString::to_string).collect();
    assert_eq!(lines, ["rule a: ipv6_prefix 64 -> 56"]);
}

/// Two policies that explain themselves differently differ in something that is told, and the same
/// file in nothing.
#[test]
fn every_change_is_reported() {
    let compiled = |file: &slidegate::policy::file::File| {
        Policy::compile(file.clone()).unwrap_or_else(|errors| panic!("{errors}"))
    };
    let generate = |rng: &Rng| ((file(rng), file(rng)), Vec::<()>::new());
    prove(generate, |(one, other), _| {
        let (one, other) = (compiled(one), compiled(other));
        ensure!(one.diff(&one).is_empty(), "{:?}", one.diff(&one));
        let differ = one.explain() != other.explain();
        ensure!(!differ || !one.diff(&other).is_empty(), "nothing is told");
        Ok(())
    });
}
