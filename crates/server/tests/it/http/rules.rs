//! Which limits apply: several at once, by route, tier and override; observed, shared out, allowed
//! and denied.

use serde_json::{Value, json};

use crate::http::service::{BOTH, START_MS, Service};

/// A log of 600 per minute keeps slots of 469 ms: what comes now stays until its slot has left the
/// window.
const MINUTE_AND_SLOT_MS: u64 = 60_000 + (469 - 1 - START_MS % 469);

#[tokio::test]
async fn several_limits_are_decided_together() {
    for kind in BOTH {
        let policy = "rules: [{ name: api, key: [user], limits: [10/s, 600/min] }]";
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let alice = json!({ "user": "alice" });
        assert_eq!(client.statuses(10, alice.clone()).await, [200; 10]);
        let denied = client.check(alice.clone()).await;
        assert_eq!(denied.status, 429);
        let expected = json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "detail": "api-10/s: quota used up; try again in 1000 ms",
            "violated-policies": ["api-10/s"],
            "allowed": false, "remaining": 0, "retry_after_ms": 1000, "reset_after_ms": MINUTE_AND_SLOT_MS,
            "decided_at_ms": START_MS, "source": "store",
            "limits": [
                { "rule": "api", "limit": "10/s", "policy": "api-10/s", "quota": 10, "window_ms": 1000,
                  "remaining": 0, "retry_after_ms": 1000, "reset_after_ms": 1000, "outcome": "retry" },
                { "rule": "api", "limit": "600/min", "policy": "api-600/min", "quota": 600, "window_ms": 60_000,
                  "remaining": 590, "retry_after_ms": null, "reset_after_ms": MINUTE_AND_SLOT_MS,
                  "outcome": "fits" },
            ],
        });
        assert_eq!(denied.json(), expected, "{kind:?}");

        // A denial burnt nothing: ten in each of sixty seconds are what a minute takes, and then
        // both limits refuse.
        for _ in 1..60 {
            service.advance_ms(1_000);
            assert_eq!(client.statuses(10, alice.clone()).await, [200; 10]);
        }
        service.advance_ms(999);
        let denied = client.check(alice.clone()).await;
        assert_eq!(denied.at("/violated-policies"), json!(["api-10/s", "api-600/min"]), "{kind:?}");
        // A client that waits as long as the response says gets in, and not before.
        let wait_ms = denied.at("/retry_after_ms").as_u64().expect("a wait");
        service.advance_ms(wait_ms - 1);
        assert_eq!(client.statuses(1, alice.clone()).await, [429]);
        service.advance_ms(1);
        assert_eq!(client.statuses(1, alice).await, [200]);
    }
}

#[tokio::test]
async fn no_rule_no_limit() {
    for kind in BOTH {
        let service =
            Service::start(kind, "rules: [{ name: a, match: { path: /a }, limits: [1/min] }]").await;
        let answer = service.client().await.check(json!({ "path": "/b" })).await;
        let expected = json!({
            "allowed": true, "remaining": null, "retry_after_ms": null, "reset_after_ms": null,
            "decided_at_ms": START_MS, "source": "store", "limits": [],
        });
        assert_eq!((answer.status, answer.json()), (200, expected));
        assert_eq!(answer.header("ratelimit-policy"), None);
    }
}

#[tokio::test]
async fn routes_have_their_own_keys() {
    let policy = "
rules:
  - { name: login, match: { method: POST, path: /login }, key: [ip], limits: [2/min] }
  - { name: files, match: { path: '/users/{id}/files/{*rest}' }, key: [user], limits: [3/min] }
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let login =
            |method: &str, ip: &str| json!({ "method": method, "path": "/login", "ip": ip, "user": "u" });
        assert_eq!(client.statuses(3, login("POST", "203.0.113.7")).await, [200, 200, 429]);
        assert_eq!(client.statuses(1, login("POST", "203.0.113.8")).await, [200]);
        assert_eq!(client.statuses(3, login("GET", "203.0.113.7")).await, [200; 3]);
        let files = |user: &str| json!({ "path": "/users/1/files/a/b", "ip": "203.0.113.7", "user": user });
        assert_eq!(client.statuses(4, files("u")).await, [200, 200, 200, 429]);
        assert_eq!(client.statuses(1, files("v")).await, [200]);
    }
}

#[tokio::test]
async fn tiers_and_overrides_replace_limits() {
    let policy = "
rules:
  - name: api
    key: [org]
    limits: [1/min]
    overrides: [{ when: { org: acme }, limits: [4/min] }]
    tiers: { pro: [2/min], enterprise: [3/min] }
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let rows: [(Value, usize); 5] = [
            (json!({ "org": "a" }), 1),
            (json!({ "org": "b", "tier": "pro" }), 2),
            (json!({ "org": "c", "tier": "enterprise" }), 3),
            (json!({ "org": "d", "tier": "unheard of" }), 1),
            // An override comes before a tier.
            (json!({ "org": "acme", "tier": "pro" }), 4),
        ];
        for (attributes, quota) in rows {
            let mut expected = vec![200; quota];
            expected.push(429);
            assert_eq!(client.statuses(quota + 1, attributes.clone()).await, expected, "{attributes}");
        }
    }
}

#[tokio::test]
async fn who_observes_neither_blocks_nor_charges() {
    let policy = "
rules:
  - { name: tried, key: [user], limits: [1/min], mode: observe }
  - { name: api, key: [user], limits: [3/min] }
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let alice = json!({ "user": "alice" });
        let first = client.check(alice.clone()).await;
        assert_eq!(first.at("/observed/0/outcome"), "fits");
        assert_eq!(first.at("/observed/0/decided_at_ms"), first.at("/decided_at_ms"));
        assert_eq!(first.at("/limits/0").get("decided_at_ms"), None);
        assert_eq!(
            (first.at("/observed/0/rule"), first.at("/limits/0/rule")),
            ("tried".into(), "api".into())
        );
        let second = client.check(alice.clone()).await;
        assert_eq!((second.status, second.at("/observed/0/outcome")), (200, "retry".into()));
        assert_eq!(second.at("/remaining"), 1);
        assert_eq!(client.statuses(2, alice).await, [200, 429]);
    }
}

#[tokio::test]
async fn a_canary_is_a_share_of_subjects_and_stays_the_same() {
    let policy = "rules: [{ name: api, key: [user], limits: [1/min], mode: { enforce: 25% } }]";
    let mut enforced = Vec::new();
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let mut refused = Vec::new();
        for user in 0..200 {
            let statuses = client.statuses(3, json!({ "user": user.to_string() })).await;
            match statuses[..] {
                [200, 200, 200] => {}
                [200, 429, 429] => refused.push(user),
                _ => panic!("{user} got {statuses:?}"),
            }
        }
        enforced.push(refused);
    }
    // By a hash without a secret: the same users on every node and in every run.
    assert_eq!(enforced[0], enforced[1]);
    assert!((20..=80).contains(&enforced[0].len()), "{} of 200", enforced[0].len());
}

#[tokio::test]
async fn enforced_for_some() {
    let policy =
        "rules: [{ name: api, key: [org], limits: [1/min], mode: { enforce_for: [{ org: acme }] } }]";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        assert_eq!(client.statuses(2, json!({ "org": "acme" })).await, [200, 429]);
        assert_eq!(client.statuses(2, json!({ "org": "other" })).await, [200, 200]);
    }
}

#[tokio::test]
async fn lists_come_before_limits() {
    let policy = "
rules:
  - name: api
    key: [user]
    limits: [1/min]
    allow: [{ ip: 10.0.0.0/8 }]
    deny: [{ user: mallory }]
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        assert_eq!(client.statuses(3, json!({ "user": "a", "ip": "10.1.2.3" })).await, [200; 3]);
        assert_eq!(client.statuses(2, json!({ "user": "a", "ip": "11.1.2.3" })).await, [200, 429]);
        let denied = client.check(json!({ "user": "mallory" })).await;
        let expected = json!({
            "type": "about:blank", "title": "Forbidden", "status": 403,
            "detail": "rule api blocks this request: it is on its deny list",
            "allowed": false, "rule": "api",
        });
        assert_eq!((denied.status, denied.json()), (403, expected));
        assert_eq!(denied.header("content-type"), Some("application/problem+json"));
        assert_eq!(denied.header("retry-after"), None);
    }
}
