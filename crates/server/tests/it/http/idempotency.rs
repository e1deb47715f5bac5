//! The same request twice, charged once.

use serde_json::{Value, json};

use crate::http::client::Response;
use crate::http::service::{BOTH, Service};

fn body(user: &str, cost: u64, key: &str) -> Value {
    json!({ "attributes": { "user": user }, "cost": cost, "idempotency_key": key })
}

/// Body without `replayed`.
fn without_replayed(response: &Response) -> Value {
    let mut body = response.json();
    body.as_object_mut().expect("an object").remove("replayed");
    body
}

#[tokio::test]
async fn charged_once_and_answered_again() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: api, key: [user], limits: [5/min] }]").await;
        let mut client = service.client().await;
        let first = client.post("/v1/check", &body("alice", 2, "one")).await;
        assert_eq!((first.status, first.at("/remaining")), (200, 3.into()));
        assert_eq!(first.json().get("replayed"), None);
        let again = client.post("/v1/check", &body("alice", 2, "one")).await;
        assert_eq!((again.status, again.at("/replayed")), (200, true.into()));
        assert_eq!(without_replayed(&again), first.json(), "{kind:?}");
        let other = client.post("/v1/check", &body("alice", 2, "two")).await;
        assert_eq!(other.at("/remaining"), 1);
    }
}

#[tokio::test]
async fn a_key_is_for_one_request() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: api, key: [user], limits: [5/min] }]").await;
        let mut client = service.client().await;
        assert_eq!(client.post("/v1/check", &body("alice", 2, "one")).await.status, 200);
        for other in [body("alice", 1, "one"), body("bob", 2, "one")] {
            let conflict = client.post("/v1/check", &other).await;
            assert_eq!(conflict.status, 409, "{kind:?}");
            assert!(conflict.detail().contains("idempotency key"), "{}", conflict.detail());
        }
        assert_eq!(client.check(json!({ "user": "bob" })).await.at("/remaining"), 4);
    }
}

#[tokio::test]
async fn denials_are_not_remembered() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: api, key: [user], limits: [5/min] }]").await;
        let mut client = service.client().await;
        assert_eq!(client.statuses(5, json!({ "user": "alice" })).await, [200; 5]);
        assert_eq!(client.post("/v1/check", &body("alice", 1, "one")).await.status, 429);
        service.advance_ms(60_000);
        let admitted = client.post("/v1/check", &body("alice", 1, "one")).await;
        assert_eq!((admitted.status, admitted.json().get("replayed")), (200, None));
    }
}

/// A key that is used again after its time is a new request: charged anew, with a permit that was
/// never used.
#[tokio::test]
async fn a_key_after_its_time_gets_a_permit_of_its_own() {
    let policy = "rules: [{ name: api, key: [user], limits: [5/h], refundable: true }]";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        for _ in 0..3 {
            let first = client.post("/v1/check", &body("alice", 2, "one")).await;
            assert_eq!((first.status, first.at("/remaining")), (200, 3.into()), "{kind:?}");
            let again = client.post("/v1/check", &body("alice", 2, "one")).await;
            assert_eq!((again.at("/replayed"), again.at("/permit")), (true.into(), first.at("/permit")));
            let refund = client.post("/v1/refund", &json!({ "permit": first.at("/permit") })).await;
            assert_eq!(refund.status, 200, "{kind:?}: {}", refund.json());
            let spent = client.post("/v1/refund", &json!({ "permit": again.at("/permit") })).await;
            assert_eq!(spent.status, 409, "both are one permit");
            service.advance_ms(60_000);
        }
    }
}

/// However often and however concurrently it is repeated.
#[tokio::test]
async fn fifty_at_once_are_charged_once() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: api, key: [user], limits: [500/min] }]").await;
        let once = async || {
            let mut client = service.client().await;
            client.post("/v1/check", &body("alice", 1, "one")).await
        };
        let answers = futures_util::future::join_all((0..50).map(|_| once())).await;
        let replayed = answers.iter().filter(|answer| answer.json().get("replayed").is_some()).count();
        assert!(answers.iter().all(|answer| (answer.status, answer.at("/remaining")) == (200, 499.into())));
        assert_eq!(replayed, 49, "{kind:?}");
        let mut client = service.client().await;
        assert_eq!(client.check(json!({ "user": "alice" })).await.at("/remaining"), 498, "{kind:?}");
    }
}
