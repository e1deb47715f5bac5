//! Decisions of the layer, and what clients see of them.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use axum::routing::get as on_get;
use serde_json::Value;
use slidegate::headers::{Headers, Reset, Style};
use slidegate::tower::{LayerError, RateLimitLayer, Refusal};
use slidegate::{Gate, ManualClock, Memory, Source};

use super::{from_peer, get, header, send, text};
use crate::gates;

fn hello() -> Router {
    Router::new().route("/", on_get(|| async { "hello" })).route("/other", on_get(|| async { "other" }))
}

fn gate(rules: &str) -> Arc<Gate<Memory, ManualClock>> {
    Arc::new(gates::gate(rules).0)
}

#[tokio::test]
async fn clients_are_limited_by_address() {
    let router = hello().layer(RateLimitLayer::per_client(["2/h"]).expect("a layer"));
    let (alice, bob) = (from_peer(router.clone(), "192.0.2.1"), from_peer(router, "192.0.2.2"));
    let first = get(&alice, "/").await;
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(header(&first, "ratelimit-policy"), "\"requests-2/h\";q=2;w=3600");
    assert_eq!(header(&first, "ratelimit"), "\"requests-2/h\";r=1;t=3600");
    assert_eq!(text(first).await, "hello");
    assert_eq!(get(&alice, "/other").await.status(), StatusCode::OK);
    let denied = get(&alice, "/").await;
    assert_eq!(denied.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(header(&denied, "content-type"), "application/problem+json");
    assert_eq!(header(&denied, "retry-after"), "3600");
    let problem: Value = serde_json::from_str(&text(denied).await).expect("JSON");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["violated-policies"][0], "requests-2/h");
    assert!(problem["retry_after_ms"].as_u64().is_some_and(|ms| ms <= 3_600_000));
    assert_eq!(get(&bob, "/").await.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_forwarded_address_counts_only_from_trusted_proxies() {
    let forwarded = |by: &str| {
        Request::get("/").header("x-forwarded-for", by.to_owned()).body(Body::empty()).expect("a request")
    };
    let open = hello().layer(RateLimitLayer::per_client(["1/h"]).expect("a layer"));
    let open = from_peer(open, "10.0.0.1");
    assert_eq!(send(&open, forwarded("198.51.100.1")).await.status(), 200);
    assert_eq!(send(&open, forwarded("198.51.100.2")).await.status(), 429, "the header is ignored");
    let layer = RateLimitLayer::per_client(["1/h"]).and_then(|layer| layer.trust_proxies(["10.0.0.0/8"]));
    let behind = from_peer(hello().layer(layer.expect("a layer")), "10.0.0.1");
    assert_eq!(send(&behind, forwarded("198.51.100.1")).await.status(), 200);
    assert_eq!(send(&behind, forwarded("198.51.100.2")).await.status(), 200);
    assert_eq!(send(&behind, forwarded("6.6.6.6, 198.51.100.2")).await.status(), 429);
}

#[tokio::test]
async fn a_header_is_the_key() {
    let router = hello().layer(RateLimitLayer::per_header("x-api-key", ["1/h"]).expect("a layer"));
    let request = |keys: &[&str]| {
        let request = keys.iter().fold(Request::get("/"), |request, key| request.header("x-api-key", *key));
        request.body(Body::empty()).expect("a request")
    };
    assert_eq!(send(&router, request(&["a"])).await.status(), 200);
    assert_eq!(send(&router, request(&["a"])).await.status(), 429);
    assert_eq!(send(&router, request(&["b"])).await.status(), 200);
    // Those without it share one quota; two values are refused: the service might use the other.
    assert_eq!(send(&router, request(&[])).await.status(), 200);
    assert_eq!(send(&router, request(&[])).await.status(), 429);
    let twice = send(&router, request(&["c", "d"])).await;
    assert_eq!(twice.status(), StatusCode::BAD_REQUEST);
    assert!(text(twice).await.contains("the header x-api-key is given twice"));
}

#[tokio::test]
async fn what_is_invalid_is_refused_even_if_no_rule_reads_it() {
    let router = hello().layer(RateLimitLayer::global(["100/h"]).expect("a layer"));
    let status = async |path: &str, hosts: &[&str]| {
        let request = hosts.iter().fold(Request::get(path), |request, host| request.header("host", *host));
        send(&router, request.body(Body::empty()).expect("a request")).await.status().as_u16()
    };
    assert_eq!(status("/other", &["a"]).await, 200);
    assert_eq!(status("/other", &["a", "b"]).await, 400);
    assert_eq!(status("/other", &[&"a".repeat(5_000)]).await, 400);
    assert_eq!(status(&format!("/{}", "a".repeat(5_000)), &["a"]).await, 400);
    assert_eq!(status(&format!("/a{}", "//b;c%2F..%5Cd".repeat(200)), &["a"]).await, 400);
}

#[tokio::test]
async fn all_requests_share_a_global_limit() {
    let router = hello().layer(RateLimitLayer::global(["2/h"]).expect("a layer"));
    let statuses = [get(&router, "/").await, get(&router, "/other").await, get(&router, "/").await];
    assert_eq!(statuses.map(|response| response.status().as_u16()), [200, 200, 429]);
}

#[tokio::test]
async fn rules_of_a_policy_apply_with_attributes_and_costs() {
    let gate = gate(
        "  - { name: search, match: { path: /other }, key: [user], limits: [10/h], tiers: { gold: [100/h] }, \
         deny: [{ user: mallory }] }\n  - { name: dry, mode: observe, limits: [1/h] }\n",
    );
    let layer = RateLimitLayer::new(gate)
        .attribute("tier", "x-tier")
        .attribute_with("user", |parts| {
            parts.headers.get("x-user").and_then(|user| user.to_str().ok()).map(Cow::Borrowed)
        })
        .cost_with(|parts| parts.headers.get("x-cost").map_or(1, |cost| cost.len() as u64));
    let router = hello().layer(layer);
    let request = |user: &str, tier: &str, cost: &str| {
        let request = Request::get("/other").header("x-user", user.to_owned());
        let request = request.header("x-tier", tier.to_owned()).header("x-cost", cost.to_owned());
        request.body(Body::empty()).expect("a request")
    };
    let answer = send(&router, request("alice", "", "xxxxx")).await;
    assert_eq!(header(&answer, "ratelimit"), "\"search-10/h\";r=5;t=3600");
    assert_eq!(send(&router, request("alice", "", "xxxxxx")).await.status(), 429);
    assert_eq!(
        header(&send(&router, request("bob", "gold", "x")).await, "ratelimit"),
        "\"search-100/h\";r=99;t=3600"
    );
    let never = send(&router, request("eve", "", "xxxxxxxxxxx")).await;
    assert_eq!((never.status().as_u16(), header(&never, "retry-after")), (429, ""));
    let blocked = send(&router, request("mallory", "", "x")).await;
    assert_eq!(blocked.status(), StatusCode::FORBIDDEN);
    assert!(text(blocked).await.contains("rule search blocks this request: it is on its deny list"));
    // A rule in observe mode denies nobody.
    assert_eq!(get(&router, "/").await.status(), 200);
}

#[tokio::test]
async fn every_style_of_headers() {
    let send = |style| {
        let gate = gate("  - { name: api, limits: [5/min] }\n");
        let layer = RateLimitLayer::new(gate).headers(Headers { style, ..Headers::default() });
        let router = hello().layer(layer);
        async move { get(&router, "/").await }
    };
    let response = send(Style::Legacy).await;
    let names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
    assert_eq!(names.map(|name| header(&response, name)), ["5", "4", "60"]);
    let response = send(Style::XRateLimit(Reset::Epoch)).await;
    let names = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"];
    assert_eq!(names.map(|name| header(&response, name)), ["5", "4", "1000060"]);
    let response = send(Style::None).await;
    assert!(response.headers().keys().all(|name| !name.as_str().contains("ratelimit")));
}

#[tokio::test]
async fn layers_add_their_lists() {
    let outer = RateLimitLayer::new(gate("  - { name: outer, limits: [9/min] }\n"));
    let inner = RateLimitLayer::new(gate("  - { name: inner, limits: [5/min] }\n"));
    let response = get(&hello().layer(inner).layer(outer), "/").await;
    let values = response.headers().get_all("ratelimit").iter();
    let values: Vec<_> = values.map(|value| value.to_str().expect("text")).collect();
    assert_eq!(values, ["\"inner-5/min\";r=4;t=60", "\"outer-9/min\";r=8;t=60"]);
}

#[tokio::test]
async fn refusals_can_be_rendered_by_the_application() {
    let layer = RateLimitLayer::global(["1/h"]).expect("a layer").refuse_with(|refusal| {
        let mut response = Response::new(Bytes::from(format!("slow down: {}", refusal.detail())));
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    });
    let router = hello().layer(layer);
    get(&router, "/").await;
    let refused = get(&router, "/").await;
    assert_eq!((refused.status(), header(&refused, "retry-after")), (StatusCode::IM_A_TEAPOT, "3600"));
    assert!(text(refused).await.starts_with("slow down: requests-1/h: quota exceeded; retry in "));
}

#[tokio::test]
async fn requests_wait_for_admission() {
    let layer = RateLimitLayer::global(["1/50ms"]).expect("a layer").wait(Duration::from_secs(60));
    let router = hello().layer(layer);
    let start = std::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(get(&router, "/").await.status(), 200);
    }
    assert!(start.elapsed() >= Duration::from_millis(99), "two of them waited");
}

#[test]
fn what_is_wrong_with_a_layer_is_an_error() {
    let error = |layer: Result<RateLimitLayer, LayerError>| layer.expect_err("an error").to_string();
    let unparsed = "ten/s".parse::<slidegate::Limit>().expect_err("no number").to_string();
    assert_eq!(error(RateLimitLayer::per_client(["ten/s"])), unparsed);
    assert!(error(RateLimitLayer::per_client([""; 0])).contains("limit"));
    assert!(error(RateLimitLayer::per_header("no header", ["1/s"])).contains("header"));
    let proxies = RateLimitLayer::per_client(["1/s"]).and_then(|layer| layer.trust_proxies(["10.0.0.0/33"]));
    assert!(error(proxies).contains("invalid network `10.0.0.0/33`"));
}

/// A refusal has the members that the HTTP API of the server declares, whatever refuses.
#[tokio::test]
async fn every_429_has_the_shape_of_the_api() {
    let api = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/src/protocols/rest/openapi.json");
    let api: Value = serde_json::from_slice(&std::fs::read(api).expect("a file")).expect("JSON");
    let schemas = &api["components"]["schemas"];
    let declared = |schema: &str, problem: &Value| {
        let schema = &schemas[schema];
        let members = problem.as_object().expect("an object");
        let required = schema["required"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let missing: Vec<_> = required.filter(|name| !members.contains_key(*name)).collect();
        let unknown: Vec<_> = members.keys().filter(|name| schema["properties"][name].is_null()).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "{missing:?} {unknown:?} {problem}");
    };
    let gate = gate(
        "  - { name: api, limits: [2/min, 9/h] }\n  - { name: slots, limits: [{ in_flight: 1, hold: 30s }] }\n",
    );
    let router = hello().layer(RateLimitLayer::new(gate));
    let open = get(&router, "/").await; // holds the slot
    let refused = get(&router, "/").await;
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    let problem: Value = serde_json::from_str(&text(refused).await).expect("JSON");
    declared("Refusal", &problem);
    let limits = problem["limits"].as_array().expect("a list");
    limits.iter().for_each(|limit| declared("Limit", limit));
    let outcomes: Vec<_> = limits.iter().map(|limit| limit["outcome"].as_str().expect("text")).collect();
    assert_eq!(outcomes, ["fits", "fits", "retry"]);
    assert_eq!(problem["violated-policies"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&problem["allowed"], &problem["retry_after_at_most_ms"]),
        (&Value::Bool(false), &Value::from(30_000))
    );
    drop(open);
    let refusal = Refusal::TooManyPermits { decided_by: Source::Store, decided_at_ms: 7 };
    let response = refusal.problem();
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let problem: Value = serde_json::from_slice(response.body()).expect("JSON");
    declared("Refusal", &problem);
    assert_eq!((&problem["outcome"], &problem["decided_at_ms"]), (&"too_many_permits".into(), &7.into()));
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("settle or refund some")));
    assert_eq!(refusal.grpc().headers()["grpc-status"], "8");
}
