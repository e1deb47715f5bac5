//! `POST /v1/limit`: a limit that comes with the request.

use serde_json::json;

use crate::http::service::{BOTH, Kind, START_MS, Service};

#[tokio::test]
async fn decided_without_a_policy() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: []").await;
        let mut client = service.client().await;
        for algorithm in ["log", "counter", "fixed", "gcra"] {
            let body = json!({ "key": algorithm, "quota": 2, "window_ms": 60_000, "algorithm": algorithm });
            let statuses = [
                client.post("/v1/limit", &body).await.status,
                client.post("/v1/limit", &body).await.status,
                client.post("/v1/limit", &body).await.status,
            ];
            assert_eq!(statuses, [200, 200, 429], "{algorithm} {kind:?}");
        }
        let denied =
            client.post("/v1/limit", &json!({ "key": "log", "quota": 2, "window_ms": 60_000 })).await;
        let expected = json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429, "detail": "2/min: quota used up; try again in 60000 ms", "violated-policies": ["2/min"],
            "allowed": false, "remaining": 0, "retry_after_ms": 60_000, "reset_after_ms": 60_000,
            "decided_at_ms": START_MS, "source": "store",
            "limits": [{ "limit": "2/min", "policy": "2/min", "quota": 2, "window_ms": 60_000, "remaining": 0,
                         "retry_after_ms": 60_000, "reset_after_ms": 60_000, "outcome": "retry" }],
        });
        assert_eq!(denied.json(), expected, "{kind:?}");
        assert_eq!(denied.header("retry-after"), Some("60"));
    }
}

#[tokio::test]
async fn an_invalid_limit_is_an_error() {
    let service = Service::start(Kind::Memory, "rules: []").await;
    let mut client = service.client().await;
    let rows = [
        (json!({ "key": "a", "quota": 0, "window_ms": 1 }), "quota must be at least 1"),
        (json!({ "key": "a", "quota": 1, "window_ms": 0 }), "window must be at least 1 ms"),
        (json!({ "key": "a", "quota": 1_u64 << 52, "window_ms": 1 }), "quota must be at most"),
        (json!({ "key": "a", "quota": 1, "window_ms": u64::MAX }), "window must be at most 1,000 days"),
        (json!({ "key": "a", "quota": 1, "window_ms": 1, "burst": 1 }), "burst is for the algorithm gcra"),
        (
            json!({ "key": "a", "quota": 1, "window_ms": 1, "algorithm": "gcra", "burst": 0 }),
            "burst must be at least 1",
        ),
        (json!({ "key": "a", "quota": 1, "window_ms": 1, "algorithm": "leaky" }), "unknown variant `leaky`"),
        (json!({ "key": "", "quota": 1, "window_ms": 1 }), "key has 1 to 4096 bytes"),
        (json!({ "quota": 1, "window_ms": 1 }), "missing field `key`"),
        (json!({ "key": "a", "window_ms": 1 }), "missing field `quota`"),
        (json!({ "key": "a", "quota": 1, "window_ms": 1, "window": 1 }), "unknown field `window`"),
    ];
    for (body, expected) in rows {
        let answer = client.post("/v1/limit", &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.detail().contains(expected), "{body}: {}", answer.detail());
    }
}

#[tokio::test]
async fn beyond_loopback_it_has_to_be_switched_on() {
    let body = json!({ "key": "a", "quota": 1, "window_ms": 1000 });
    for (server, status) in [
        ("{ http: '127.0.0.1:0' }", 200),
        ("{ http: '[::1]:0' }", 200),
        ("{ http: '0.0.0.0:0' }", 403),
        ("{ http: '0.0.0.0:0', ad_hoc_limits: true }", 200),
        ("{ ad_hoc_limits: false }", 403),
    ] {
        let service = Service::start(Kind::Memory, &format!("server: {server}\nrules: []")).await;
        let answer = service.client().await.post("/v1/limit", &body).await;
        assert_eq!(answer.status, status, "{server}");
        assert!(status == 200 || answer.detail().contains("server.ad_hoc_limits"), "{}", answer.detail());
    }
}

/// In a descriptor they would replace the rules.
#[tokio::test]
async fn beyond_loopback_it_has_to_be_switched_on_for_descriptors_too() {
    let entries = json!([{ "key": "user", "value": "alice" }]);
    let limit = json!({ "requests_per_unit": 1_000_000, "unit": "MINUTE" });
    let body = json!({ "domain": "d", "descriptors": [{ "entries": entries, "limit": limit }] });
    for (server, status) in [
        ("{ http: '127.0.0.1:0' }", 200),
        ("{ http: '0.0.0.0:0' }", 429),
        ("{ http: '0.0.0.0:0', ad_hoc_limits: true }", 200),
        ("{ ad_hoc_limits: false }", 429),
    ] {
        let rules = "rules: [{ name: api, key: [user], limits: [1/day] }]";
        let service = Service::start(Kind::Memory, &format!("server: {server}\n{rules}")).await;
        for _ in 0..3 {
            let answer = service.client().await.post("/json", &body).await;
            assert_eq!(answer.status, status, "{server}");
            let text = answer.json().to_string();
            assert_eq!(text.contains("server.ad_hoc_limits"), status == 429, "{text}");
        }
    }
}
