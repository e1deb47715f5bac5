//! `wait_ms`: requests wait in order, for a limited time and in limited number.

use serde_json::{Value, json};
use tokio::task::yield_now;

use crate::http::client::bytes_of;
use crate::http::service::{BOTH, Service};

fn body(wait_ms: u64) -> Value {
    json!({ "attributes": { "user": "alice" }, "wait_ms": wait_ms })
}

async fn until<T: PartialEq>(expected: T, actual: impl Fn() -> T) {
    while actual() != expected {
        yield_now().await;
    }
}

#[tokio::test]
async fn requests_wait_in_the_order_of_arrival() {
    for kind in BOTH {
        let policy = "rules: [{ name: api, key: [user], limits: [1/100ms] }]";
        let service = Service::start_in_real_time(kind, policy).await;
        let mut clients = Vec::new();
        for number in 0..4 {
            let mut client = service.client().await;
            let body = body(30_000).to_string();
            client.write(&bytes_of("POST", "/v1/check", &[], body.as_bytes())).await;
            if number == 0 {
                assert_eq!(client.receive("POST", "/v1/check").await.status, 200);
                // Used up again, so that all that follow have to wait.
                client.write(&bytes_of("POST", "/v1/check", &[], body.as_bytes())).await;
            }
            until(number + 1, || service.app.waiting()).await;
            clients.push(client);
        }
        let mut last_ms = 0;
        for client in &mut clients {
            let answer = client.receive("POST", "/v1/check").await;
            let decided_at_ms = answer.at("/decided_at_ms").as_u64().expect("a time");
            assert_eq!(answer.status, 200);
            assert!(decided_at_ms >= last_ms + 100, "{kind:?}: {decided_at_ms} after {last_ms}");
            last_ms = decided_at_ms;
        }
        assert_eq!(service.app.waiting(), 0);
    }
}

#[tokio::test]
async fn a_wait_that_would_be_too_long_is_not_begun() {
    for kind in BOTH {
        let policy = "
server: { max_wait: 5s }
rules: [{ name: api, key: [user], limits: [1/h] }]
";
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        assert_eq!(client.post("/v1/check", &body(5_000)).await.status, 200);
        let denied = client.post("/v1/check", &body(5_000)).await;
        assert_eq!((denied.status, denied.at("/retry_after_ms")), (429, 3_600_000.into()));
        let refused = client.post("/v1/check", &body(5_001)).await;
        assert_eq!((refused.status, refused.detail().as_str()), (400, "wait_ms is at most 5000, not 5001"));
    }
}

#[tokio::test]
async fn so_many_wait_at_a_time() {
    for kind in BOTH {
        let policy = "
server: { max_waiting: 1 }
rules: [{ name: api, key: [user], limits: [1/20s] }]
";
        let service = Service::start_in_real_time(kind, policy).await;
        let mut client = service.client().await;
        assert_eq!(client.check(json!({ "user": "alice" })).await.status, 200);
        let mut waiting = service.client().await;
        waiting.write(&bytes_of("POST", "/v1/check", &[], body(30_000).to_string().as_bytes())).await;
        until(1, || service.app.waiting()).await;
        // The only slot is taken: this one is answered at once, while the other still waits.
        assert_eq!(client.post("/v1/check", &body(30_000)).await.status, 429);
        assert_eq!(service.app.waiting(), 1);
        // A client that leaves frees its slot.
        drop(waiting);
        until(0, || service.app.waiting()).await;
    }
}
