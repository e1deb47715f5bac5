//! Requests that are being served, counted by permits.

use serde_json::json;

use crate::service::{BOTH, Service};

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
        // A place may be free at any time, so that no time can be told to come again.
        let full = client.check(alice.clone()).await;
        assert_eq!((full.status, full.header("retry-after")), (429, None));
        let released = client.post("/v1/refund", &json!({ "permit": first.at("/permit") })).await;
        assert_eq!((released.status, released.at("/outcome")), (200, "settled".into()));
        assert_eq!(client.statuses(2, alice.clone()).await, [200, 429]);
        // Who never releases frees its place when its hold ends.
        service.advance_ms(30_000);
        assert_eq!(client.statuses(3, alice).await, [200, 200, 429]);
    }
}
