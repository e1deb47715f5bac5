//! Subjects: looked at without a charge, and reset.

use serde_json::{Value, json};

use super::{Operator, with_admin};
use crate::http::service::{BOTH, Kind, Service};

const RULES: &str = "
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min] }
  - name: search
    match: { path: /search }
    key: ['api_key|ip']
    limits: [3/s]
    tiers: { gold: [30/s] }
    allow: [{ api_key: ours }]
  - { name: all, limits: [100/min], mode: observe }
  - { name: org, match: { path: /org }, key: [org], limits: [1/h], missing: skip }
";

#[tokio::test]
async fn a_look_reports_all_usage() {
    for kind in BOTH {
        let service = Service::start(kind, &with_admin(RULES)).await;
        let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
        let login = json!({ "path": "/login", "ip": "203.0.113.7" });
        assert_eq!(client.statuses(3, login).await, [200, 200, 429]);
        service.advance_ms(20_000);
        let look = json!({ "rule": "login", "attributes": { "ip": "203.0.113.7" } });
        let expected = json!({ "subjects": [{
            "rule": "login",
            "key": { "ip": "203.0.113.7" },
            "applies_to": "all requests",
            "mode": "enforced",
            "listed": null,
            "source": "store",
            "looked_at_ms": crate::http::service::START_MS + 20_000,
            "limits": [{
                "limit": "2/min",
                "policy": "login-2/min",
                "quota": 2,
                "window_ms": 60_000,
                "used": 2,
                "remaining": 0,
                "retry_after_ms": 40_000,
                "reset_after_ms": 40_000,
            }],
        }]});
        for _ in 0..3 {
            assert_eq!(operator.post("/v1/keys/look", &look).await.json(), expected, "{kind:?}");
        }
        service.advance_ms(40_000);
        assert_eq!(operator.post("/v1/keys/look", &look).await.at("/subjects/0/limits/0/used"), 0);
    }
}

#[tokio::test]
async fn a_reset_is_a_fresh_start() {
    for kind in BOTH {
        let service = Service::start(kind, &with_admin(RULES)).await;
        let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
        let login = |ip: &str| json!({ "path": "/login", "ip": ip });
        for ip in ["203.0.113.7", "203.0.113.8"] {
            assert_eq!(client.statuses(3, login(ip)).await, [200, 200, 429]);
        }
        let reset = operator.post("/v1/keys/reset", &json!({ "attributes": { "ip": "203.0.113.7" } })).await;
        let key = json!({ "ip": "203.0.113.7" });
        let expected = json!({ "subjects": [
            { "rule": "login", "key": key, "limits": ["2/min"] },
            { "rule": "search", "key": key, "limits": ["3/s", "30/s"] },
        ]});
        assert_eq!((reset.status, reset.json()), (200, expected), "{kind:?}");
        assert_eq!(client.statuses(3, login("203.0.113.7")).await, [200, 200, 429]);
        assert_eq!(client.statuses(1, login("203.0.113.8")).await, [429]);
    }
}

#[tokio::test]
async fn a_subject_is_reported_with_its_treatment() {
    let service = Service::start(Kind::Memory, &with_admin(RULES)).await;
    let mut operator = Operator::new(&service).await;
    let mut look = async |rule: Value, attributes: Value| {
        let mut body = json!({ "attributes": attributes });
        if !rule.is_null() {
            body["rule"] = rule;
        }
        operator.post("/v1/keys/look", &body).await
    };
    let gold = look(json!("search"), json!({ "ip": "::1", "tier": "gold" })).await;
    assert_eq!(
        (gold.at("/subjects/0/applies_to"), gold.at("/subjects/0/limits/0/quota")),
        ("tier is gold".into(), 30.into())
    );
    assert_eq!(gold.at("/subjects/0/key"), json!({ "ip": "::/64" }));
    assert_eq!(look(Value::Null, json!({ "api_key": "ours" })).await.at("/subjects/0/listed"), "allow");
    let all = look(json!("all"), json!({})).await;
    assert_eq!((all.at("/subjects/0/mode"), all.at("/subjects/0/key")), ("observed".into(), json!({})));
    let together = look(json!("login"), json!({})).await;
    assert_eq!(together.at("/subjects/0/key"), json!({ "ip": null }));
}

#[tokio::test]
async fn where_nothing_is_found_it_says_what_to_give() {
    let service = Service::start(Kind::Memory, &with_admin(RULES)).await;
    let mut operator = Operator::new(&service).await;
    for path in ["/v1/keys/look", "/v1/keys/reset"] {
        let nothing = operator.post(path, &json!({ "attributes": { "colour": "red" } })).await;
        assert_eq!((nothing.status, nothing.at("/subjects")), (200, json!([])), "{path}");
        let message = nothing.at("/message");
        let message = message.as_str().expect("a text");
        for word in ["login (ip)", "search (api_key or else ip)", "org (org)"] {
            assert!(message.contains(word), "{message}");
        }
        let skipped = operator.post(path, &json!({ "rule": "org", "attributes": {} })).await;
        assert!(skipped.at("/message").as_str().expect("a text").contains("org (org)"), "{skipped:?}");
        let unknown = operator.post(path, &json!({ "rule": "logn", "attributes": {} })).await;
        assert_eq!(unknown.status, 404, "{path}");
        assert!(unknown.detail().contains("login, search, all, org"), "{}", unknown.detail());
        let wrong = operator.post(path, &json!({ "attributes": { "ip": "nowhere" } })).await;
        assert_eq!(wrong.status, 400, "{path}");
        let long = "x".repeat(5_000);
        assert_eq!(operator.post(path, &json!({ "attributes": { "ip": long } })).await.status, 400);
    }
}
