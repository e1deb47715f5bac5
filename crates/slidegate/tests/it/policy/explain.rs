//! What a policy says of itself.

use slidegate::policy::{Policy, RuleReport};

const POLICY: &str = "\
version: 1
rules:
  - name: login
    match: { method: POST, path: [/login, /signin] }
    key: [ip]
    limits: [5/min]
    on_store_error: deny
  - name: search
    match: { path: { prefix: /search } }
    key: [org, api_key|ip]
    limits: [10/s, { quota: 600, window: 1m, algorithm: counter }]
    missing: skip
    overrides:
      - { when: { org: [acme, emca] }, limits: [10000/day] }
      - { when: { org: [acme, emca] }, limits: [50/s] }
    tiers: { gold: [{ in_flight: 20, hold: 30s, name: slots }] }
    allow: [{ ip: 10.0.0.0/8 }]
    deny: [{ user: mallory }]
    mode: { enforce: 12.5% }
";

fn reports() -> Vec<RuleReport> {
    let policy = Policy::parse("policy.yaml", POLICY).unwrap_or_else(|errors| panic!("{errors}"));
    policy.explain()
}

#[test]
fn a_plain_rule() {
    let login = &reports()[0];
    assert_eq!(login.name, "login");
    assert_eq!(login.matches, "method is POST and path is /login or /signin");
    assert_eq!(login.key, "ip");
    assert_eq!(login.missing.as_deref(), Some("requests missing it share one bucket"));
    assert_eq!(login.mode, "enforced");
    assert_eq!(login.on_store_error, "deny all requests");
    assert!(login.warnings.is_empty(), "{:?}", login.warnings);
    let [terms] = &login.limit_sets[..] else { panic!("one set") };
    assert_eq!(terms.applies_to, "all requests");
    let limit = &terms.limits[0];
    assert_eq!((&*limit.name, &*limit.limit, limit.algorithm), ("login-5/min", "5/min", "log"));
    assert_eq!((limit.quota, limit.window_ms), (5, 60_000));
    assert_eq!((limit.resolution_ms, limit.late_ms, limit.worst_case), (Some(1), 0, 5));
    assert_eq!((limit.bytes_per_key, terms.bytes_per_key), (110, 110));
}

#[test]
fn a_rule_with_everything() {
    let search = &reports()[1];
    assert_eq!(search.matches, "path starts with /search");
    assert_eq!(search.key, "org and api_key or else ip");
    assert_eq!(search.missing.as_deref(), Some("requests missing it are not limited"));
    assert_eq!(search.mode, "enforced for 12.50% of its keys, observed for the others");
    assert_eq!(
        (&*search.allow, &*search.deny),
        (&["ip is 10.0.0.0/8".to_owned()][..], &["user is mallory".to_owned()][..])
    );
    let sets: Vec<&str> = search.limit_sets.iter().map(|terms| &*terms.applies_to).collect();
    assert_eq!(sets, ["all others", "org is acme or emca", "org is acme or emca", "tier is gold"]);
    let names = search.limit_sets.iter().flat_map(|terms| terms.limits.iter().map(|limit| &*limit.name));
    let expected =
        ["search-10/s", "search-600/min-counter", "search-10000/day", "search-50/s", "search-slots"];
    assert_eq!(names.collect::<Vec<_>>(), expected);
    let counter = &search.limit_sets[0].limits[1];
    assert_eq!((counter.worst_case, counter.resolution_ms, counter.bytes_per_key), (1_199, None, 32));
    let daily = &search.limit_sets[1].limits[0];
    assert_eq!((daily.resolution_ms, daily.late_ms, daily.worst_case), (Some(675_000), 674_999, 10_000));
    assert_eq!(daily.bytes_per_key, 64 + 16 + 130 * 6);
    assert_eq!(
        search.warnings,
        [
            "search-600/min-counter can admit 1199 in one window, above its quota of 600; a log never does",
            "search-10000/day frees a slot up to 12 minutes late; a finer `resolution` uses more memory per key",
            "the deny list applies only where the rule is enforced",
            "the override where org is acme or emca never applies: an earlier one has the same conditions",
        ]
    );
}

#[test]
fn reports_are_data() {
    let json = serde_json::to_value(reports()).expect("JSON");
    assert_eq!(json[0]["terms"][0]["limits"][0]["worst_case"], 5);
    assert_eq!(json[1]["terms"][0]["limits"][1]["resolution_ms"], serde_json::Value::Null);
}
