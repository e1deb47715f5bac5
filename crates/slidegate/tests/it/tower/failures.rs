//! The layer while the store is unavailable: what the failure policy of a rule says.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::routing::get as on_get;
use serde_json::Value;
use slidegate::store::redis::RedisConfig;
use slidegate::tower::RateLimitLayer;
use slidegate::{Fallback, Gate, Redis};

use super::{get, header, send, text};
use crate::gates::policy;

/// Store at an address where nothing listens.
pub(super) fn nowhere() -> Redis {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let url = format!("redis://{}", listener.expect("a free port"));
    Redis::new(&RedisConfig::parse(&url).expect("a URL"))
}

/// Router with a rule of two requests an hour and this failure policy.
fn router(on_store_error: &str) -> Router {
    let rules =
        format!("  - {{ name: api, key: [user], limits: [2/h], on_store_error: {on_store_error} }}\n");
    let gate = Gate::new(policy(&rules), Fallback::new(nowhere(), 1));
    let layer = RateLimitLayer::new(Arc::new(gate)).attribute("user", "x-user");
    Router::new().route("/", on_get(|| async { "hello" })).layer(layer)
}

#[tokio::test]
async fn a_rule_that_allows_lets_all_requests_pass() {
    let router = router("allow");
    for _ in 0..5 {
        let response = get(&router, "/").await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(header(&response, "ratelimit-policy"), "\"api-2/h\";q=2;w=3600");
        assert_eq!(header(&response, "ratelimit"), "", "what is left is unknown");
        assert_eq!(text(response).await, "hello");
    }
}

#[tokio::test]
async fn a_rule_that_denies_lets_no_request_pass() {
    let router = router("deny");
    let response = get(&router, "/").await;
    assert_eq!(
        (response.status(), header(&response, "retry-after")),
        (StatusCode::TOO_MANY_REQUESTS, "1"),
        "no time is known: the next request may find the store again"
    );
    let problem: Value = serde_json::from_str(&text(response).await).expect("JSON");
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    assert_eq!(problem["source"], "assumed");
    assert_eq!(
        problem["detail"],
        "api-2/h: the store is unavailable, and the rule denies meanwhile; retry in 1000 ms"
    );
}

#[tokio::test]
async fn a_rule_that_decides_locally_limits_each_client() {
    let router = router("local");
    let statuses = async |user: &str| {
        let mut statuses = Vec::new();
        for _ in 0..3 {
            let request = Request::get("/").header("x-user", user).body(Body::empty()).expect("a request");
            statuses.push(send(&router, request).await.status().as_u16());
        }
        statuses
    };
    assert_eq!(statuses("alice").await, [200, 200, 429]);
    assert_eq!(statuses("bob").await, [200, 200, 429]);
}

/// Without a fallback nobody decides.
#[tokio::test]
async fn a_store_without_a_fallback_is_unavailable() {
    let gate = Gate::new(policy("  - { name: api, limits: [2/h] }\n"), nowhere());
    let layer = RateLimitLayer::new(Arc::new(gate));
    let response = get(&Router::new().route("/", on_get(|| async { "hello" })).layer(layer), "/").await;
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(header(&response, "retry-after"), "", "when it is back is unknown");
    let problem: Value = serde_json::from_str(&text(response).await).expect("JSON");
    assert_eq!(problem["detail"], "the store of the rate limits is unavailable; retry");
}
