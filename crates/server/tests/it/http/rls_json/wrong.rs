//! Calls that are not right.

use serde_json::{Value, json};

use super::{RULES, descriptor, with};
use crate::http::service::{Kind, Service};

#[tokio::test]
async fn errors_name_their_cause() {
    let service = Service::start(Kind::Memory, RULES).await;
    let mut client = service.client().await;
    let fine = || vec![descriptor("a=b")];
    let limit =
        |limit: Value| json!({ "domain": "d", "descriptors": [with("a=b", json!({ "limit": limit }))] });
    let rows = [
        (json!({ "descriptors": fine() }), "the domain is empty"),
        (json!({ "domain": null, "descriptors": fine() }), "the domain is empty"),
        (json!({ "domain": "d" }), "no descriptors"),
        (json!({ "domain": "d", "descriptors": [] }), "no descriptors"),
        (json!({ "domain": "d", "descriptors": vec![descriptor("a=b"); 129] }), "at most 128 descriptors"),
        (json!({ "domain": "d", "descriptors": [descriptor("=b")] }), "empty attribute name"),
        (json!({ "domain": "d", "descriptors": fine(), "hits": 1 }), "unknown field `hits`"),
        (json!({ "domain": "d", "descriptors": fine(), "hitsAddend": -1 }), "a whole number"),
        (json!({ "domain": "d", "descriptors": fine(), "hitsAddend": "+1" }), "a whole number"),
        (json!({ "domain": "d", "descriptors": fine(), "hitsAddend": 1_u64 << 32 }), "out of range"),
        (
            json!({ "domain": "d", "descriptors": fine(), "hitsAddend": 1, "hits_addend": 1 }),
            "duplicate field",
        ),
        (json!({ "domain": 7, "descriptors": fine() }), "domain: invalid type"),
        (limit(json!({ "requestsPerUnit": 1 })), "invalid unit 0"),
        (limit(json!({ "requestsPerUnit": 1, "unit": "FORTNIGHT" })), "MONTH or YEAR"),
        (limit(json!({ "requestsPerUnit": 1, "unit": 8 })), "invalid unit 8"),
        (json!([]), "expected a JSON object"),
    ];
    for (body, expected) in rows {
        let answer = client.post("/json", &body).await;
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.detail().contains(expected), "{body}: {}", answer.detail());
    }
}

/// Clients of envoyproxy/ratelimit send what curl does by itself.
#[tokio::test]
async fn the_content_type_does_not_matter() {
    let service = Service::start(Kind::Memory, RULES).await;
    let mut client = service.client().await;
    let body = json!({ "domain": "shop", "descriptors": [descriptor("user=alice")] }).to_string();
    for headers in [vec![], vec![("content-type", "application/x-www-form-urlencoded")]] {
        assert_eq!(client.send("POST", "/json", &headers, body.as_bytes()).await.status, 200);
    }
    assert_eq!(client.get("/json", &[]).await.status, 405);
}
