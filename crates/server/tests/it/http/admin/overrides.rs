//! Exceptions that hold for a while.

use serde_json::{Value, json};

use super::{LOGIN, Operator, with_admin};
use crate::http::service::{BOTH, Kind, Service};

fn login() -> Value {
    json!({ "path": "/login", "ip": "203.0.113.7" })
}

#[tokio::test]
async fn one_can_be_set_and_listed_and_ended() {
    for kind in BOTH {
        let service = Service::start_in_real_time(kind, &with_admin(LOGIN)).await;
        let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
        assert_eq!(client.statuses(3, login()).await, [200, 200, 429]);
        let set = operator
            .post(
                "/v1/overrides",
                &json!({ "rule": "login", "when": { "ip": "203.0.113.0/24" }, "limits": ["4/min"],
                    "expires_in": "1h", "reason": "the test" }),
            )
            .await;
        assert_eq!(set.status, 201, "{set:?}");
        let id = set.at("/id");
        let id = id.as_str().expect("an id");
        assert_eq!(set.header("location"), Some(&*format!("/v1/overrides/{id}")));
        assert_eq!(
            (set.at("/active"), set.at("/problem"), set.at("/reason")),
            (true.into(), Value::Null, "the test".into())
        );
        assert_eq!(set.at("/text"), "rule login, where ip is 203.0.113.0/24: limits 4/min");
        let lasts = |of: &str| set.at(of).as_u64().expect("a time");
        assert_eq!(lasts("/expires_at_ms") - lasts("/created_at_ms"), 3_600_000);
        // History is kept: two of four are used.
        assert_eq!(client.statuses(3, login()).await, [200, 200, 429], "{kind:?}");

        let list = operator.get("/v1/overrides").await;
        assert_eq!(list.at("/overrides"), json!([set.json()]));
        let rules = operator.get("/v1/policy").await;
        assert_eq!(rules.at("/rules/0/terms/1/applies_to"), "ip is 203.0.113.0/24");

        let ended = operator.delete(&format!("/v1/overrides/{id}")).await;
        assert_eq!((ended.status, ended.json()), (200, json!({ "id": id, "removed": true })));
        assert_eq!(operator.delete(&format!("/v1/overrides/{id}")).await.status, 404);
        assert_eq!(operator.get("/v1/overrides").await.at("/overrides"), json!([]));
        assert_eq!(client.statuses(1, login()).await, [429]);
    }
}

#[tokio::test]
async fn it_may_allow_and_deny() {
    let service = Service::start_in_real_time(Kind::Memory, &with_admin(LOGIN)).await;
    let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
    let set = |what: &str| json!({ "rule": "login", "when": {}, what: true, "expires_in": "30min" });
    assert_eq!(operator.post("/v1/overrides", &set("allow")).await.status, 201);
    assert_eq!(client.statuses(5, login()).await, [200; 5]);
    assert_eq!(operator.post("/v1/overrides", &set("deny")).await.status, 201);
    assert_eq!(client.statuses(1, login()).await, [403]);
}

#[tokio::test]
async fn errors_name_their_cause() {
    let service = Service::start_in_real_time(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let rows = [
        (json!({ "rule": "logn", "when": {}, "deny": true, "expires_in": "1h" }), "logn"),
        (json!({ "rule": "login", "when": {}, "expires_in": "1h" }), "limits"),
        (
            json!({ "rule": "login", "when": {}, "limits": ["5/fortnight"], "expires_in": "1h" }),
            "5/fortnight",
        ),
        (
            json!({ "rule": "login", "when": { "ip": "nowhere" }, "deny": true, "expires_in": "1h" }),
            "nowhere",
        ),
        (json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "soon" }), "soon"),
        (json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "60" }), "60s"),
        (json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "10ms" }), "90 days"),
        (json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "91day" }), "90 days"),
        (
            json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "1h", "reason": "x".repeat(1_001) }),
            "reason",
        ),
    ];
    for (body, word) in rows {
        let answer = operator.post("/v1/overrides", &body).await;
        assert_eq!(answer.status, 422, "{body}: {answer:?}");
        assert!(answer.detail().contains(word), "{body}: {}", answer.detail());
    }
    assert_eq!(operator.get("/v1/overrides").await.at("/overrides"), json!([]));
}
