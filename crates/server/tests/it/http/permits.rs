//! What was charged is given back or corrected, once.

use serde_json::{Value, json};

use crate::http::client::Client;
use crate::http::service::{BOTH, Kind, Service};

const POLICY: &str = "
server: { permit_secret: 'sixteen characters' }
rules: [{ name: api, key: [user], limits: [10/min], refundable: true }]
";

async fn reserve(client: &mut Client, cost: u64) -> Value {
    let answer = client.post("/v1/check", &json!({ "attributes": { "user": "alice" }, "cost": cost })).await;
    assert_eq!(answer.status, 200);
    answer.at("/permit")
}

async fn remaining(client: &mut Client) -> Value {
    let look = json!({ "attributes": { "user": "alice" }, "cost": 0 });
    client.post("/v1/check", &look).await.at("/remaining")
}

#[tokio::test]
async fn a_refund_gives_it_back_once() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let permit = reserve(&mut client, 4).await;
        assert_eq!(remaining(&mut client).await, 6);
        let refund = json!({ "permit": permit });
        let refunded = client.post("/v1/refund", &refund).await;
        assert_eq!((refunded.status, refunded.json()), (200, json!({ "outcome": "settled" })));
        assert_eq!(remaining(&mut client).await, 10);
        for path in ["/v1/refund", "/v1/settle"] {
            let mut body = refund.clone();
            if path == "/v1/settle" {
                body["cost"] = 1.into();
            }
            let again = client.post(path, &body).await;
            assert_eq!((again.status, again.at("/outcome")), (409, "already_spent".into()), "{kind:?}");
        }
        assert_eq!(remaining(&mut client).await, 10);
    }
}

#[tokio::test]
async fn a_settlement_corrects_it() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        // Less than was reserved, and more, even beyond the quota.
        for (reserved, settled, left) in [(5, 2, 8), (1, 3, 5), (5, 20, 0)] {
            let permit = reserve(&mut client, reserved).await;
            let answer = client.post("/v1/settle", &json!({ "permit": permit, "cost": settled })).await;
            assert_eq!((answer.status, answer.at("/outcome")), (200, "settled".into()));
            assert_eq!(remaining(&mut client).await, left, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn what_has_left_the_window_is_not_refunded() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let permit = reserve(&mut client, 4).await;
        service.advance_ms(60_000);
        let late = client.post("/v1/refund", &json!({ "permit": permit })).await;
        assert_eq!((late.status, late.json()), (200, json!({ "outcome": "expired" })), "{kind:?}");
        assert_eq!(remaining(&mut client).await, 10);
    }
}

#[tokio::test]
async fn a_permit_is_not_made_up() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let permit = reserve(&mut client, 4).await;
    let permit = permit.as_str().expect("a text");
    let last = if permit.ends_with('A') { "B" } else { "A" };
    let forged = format!("{}{last}{}", &permit[..20], &permit[21..]);
    for permit in ["", "?", "AQ", &forged] {
        let refused = client.post("/v1/refund", &json!({ "permit": permit })).await;
        assert_eq!(refused.status, 403, "{permit:?}: {}", refused.detail());
    }
    assert_eq!(remaining(&mut client).await, 6);
}

#[tokio::test]
async fn a_permit_is_good_on_every_node_with_the_secret() {
    let one = Service::start(Kind::Memory, POLICY).await;
    let permit = reserve(&mut one.client().await, 4).await;
    let other = Service::start(Kind::Memory, POLICY).await;
    let answer = other.client().await.post("/v1/refund", &json!({ "permit": permit })).await;
    // The other node knows the permit, and has nothing of what it stands for.
    assert_eq!((answer.status, answer.json()), (200, json!({ "outcome": "void" })));
    let stranger = Service::start(Kind::Memory, &POLICY.replace("sixteen", "different")).await;
    let answer = stranger.client().await.post("/v1/refund", &json!({ "permit": permit })).await;
    assert_eq!(answer.status, 403);
}

#[tokio::test]
async fn without_refundable_there_is_no_permit() {
    for kind in BOTH {
        let service = Service::start(kind, "rules: [{ name: api, key: [user], limits: [10/min] }]").await;
        let answer = service.client().await.check(json!({ "user": "alice" })).await;
        assert_eq!(answer.json().get("permit"), None);
    }
}
