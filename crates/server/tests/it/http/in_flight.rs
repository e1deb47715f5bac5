//! Requests that are being served, counted by permits.

use serde_json::json;

use crate::http::service::{BOTH, Service};

const POLICY: &str = "rules: [{ name: jobs, key: [user], limits: [{ in_flight: 2, hold: 30s }] }]";

#[tokio::test]
async fn so_many_at_a_time() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let alice = json!({ "user": "alice" });
        let first = client.check(alice.clone()).await;
        assert_eq!(first.at("/limits/0/limit"), "2 in flight for 30s");
        assert_eq!(client.statuses(2, alice.clone()).await, [200, 429]);
        // A slot may be free at any time, so there is no exact wait.
        let full = client.check(alice.clone()).await;
        assert_eq!((full.status, full.header("retry-after")), (429, None));
        for at in ["", "/limits/0"] {
            assert_eq!(full.at(&format!("{at}/retry_after_ms")), json!(null), "{at}");
            assert_eq!(full.at(&format!("{at}/retry_after_at_most_ms")), 30_000, "{at}");
        }
        let detail = "jobs-2-in-flight-for-30s: quota used up; a slot may be free at any time, at the latest in 30000 ms";
        assert_eq!(full.at("/detail"), detail);
        assert_eq!(first.json().get("retry_after_at_most_ms"), None);
        let released = client.post("/v1/refund", &json!({ "permit": first.at("/permit") })).await;
        assert_eq!((released.status, released.at("/outcome")), (200, "settled".into()));
        assert_eq!(client.statuses(2, alice.clone()).await, [200, 429]);
        // One slot whatever the cost: a cost above the number of slots is not refused for ever.
        let costly = client.post("/v1/check", &json!({ "attributes": { "user": "bob" }, "cost": 9 })).await;
        assert_eq!((costly.status, costly.at("/limits/0/remaining")), (200, 1.into()));
        assert_eq!(costly.at("/remaining"), json!(null), "no limit bounds the cost");
        // A slot that is never released is free when its hold ends.
        service.advance_ms(30_000);
        assert_eq!(client.statuses(3, alice).await, [200, 200, 429]);
    }
}

/// A rate and slots that are both used up: the wait is exact only if that of the rate is longest.
#[tokio::test]
async fn beside_a_rate() {
    let rules = "
rules:
  - { name: slow, match: { case: slow }, key: [user], limits: [{ in_flight: 1, hold: 30s }, 1/min] }
  - { name: fast, match: { case: fast }, key: [user], limits: [{ in_flight: 1, hold: 30s }, 1/s] }
";
    for kind in BOTH {
        let service = Service::start(kind, rules).await;
        let mut client = service.client().await;
        for (case, exact, at_most, header) in
            [("slow", json!(60_000), json!(null), Some("60")), ("fast", json!(null), json!(30_000), None)]
        {
            let attributes = json!({ "case": case, "user": "alice" });
            assert_eq!(client.check(attributes.clone()).await.status, 200);
            let refused = client.check(attributes).await;
            let at = |member: &str| refused.json().get(member).cloned().unwrap_or_default();
            assert_eq!(at("retry_after_ms"), exact, "{kind:?} {case}");
            assert_eq!(at("retry_after_at_most_ms"), at_most, "{kind:?} {case}");
            assert_eq!(refused.header("retry-after"), header, "{kind:?} {case}");
        }
    }
}

/// A request with a cost above one takes one slot, and its permit gives both back.
#[tokio::test]
async fn a_permit_is_for_the_cost_and_the_place() {
    let limits = "[9/min, { in_flight: 2, hold: 30s }, 50/h]";
    let rules = format!("rules: [{{ name: jobs, key: [user], limits: {limits}, refundable: true }}]");
    for kind in BOTH {
        let service = Service::start(kind, &rules).await;
        let mut client = service.client().await;
        let mut ask = async |cost: u64| {
            let answer =
                client.post("/v1/check", &json!({ "attributes": { "user": "alice" }, "cost": cost })).await;
            let left = [0, 1, 2].map(|n| answer.at(&format!("/limits/{n}/remaining")).as_u64());
            (answer.at("/permit"), left.map(|left| left.expect("a number")))
        };
        let (first, left) = ask(5).await;
        assert_eq!(left, [4, 1, 45], "{kind:?}");
        let (second, left) = ask(3).await;
        assert_eq!(left, [1, 0, 42], "{kind:?}");
        let mut client = service.client().await;
        for (permit, cost, expected) in [(first, 0, [6, 1, 47]), (second, 1, [8, 2, 49])] {
            for outcome in ["settled", "already_spent"] {
                let body = json!({ "permit": permit, "cost": cost });
                assert_eq!(client.post("/v1/settle", &body).await.at("/outcome"), outcome, "{kind:?}");
            }
            let look =
                client.post("/v1/check", &json!({ "attributes": { "user": "alice" }, "cost": 0 })).await;
            let left = [0, 1, 2].map(|n| look.at(&format!("/limits/{n}/remaining")));
            assert_eq!(left, expected.map(|left: u64| json!(left)), "{kind:?}");
        }
    }
}
