//! Address of the peer: where it comes from, and requests without one.

use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::routing::get as on_get;
use slidegate::tower::RateLimitLayer;
use slidegate_testkit::log_lines::LogLines;
use tracing::subscriber::set_default;

use super::{get, send};

const TARGET: &str = "slidegate::tower::attributes";

fn router(layer: RateLimitLayer) -> Router {
    Router::new().route("/", on_get(|| async { "hello" })).layer(layer)
}

/// Request with an address that a server has put into a header, and in an extension.
fn request(peer: &str) -> Request<Body> {
    Request::get("/").header("x-peer", peer).body(Body::empty()).expect("a request")
}

#[tokio::test]
async fn a_missing_peer_is_logged_once_and_shares_one_quota() {
    let lines = LogLines::of(TARGET);
    let _subscriber = set_default(lines.clone());
    let router = router(RateLimitLayer::per_client(["2/h"]).expect("a layer"));
    for status in [StatusCode::OK, StatusCode::OK, StatusCode::TOO_MANY_REQUESTS] {
        assert_eq!(get(&router, "/").await.status(), status);
    }
    let lines = lines.take();
    let [line] = &lines[..] else { panic!("one line, not {lines:?}") };
    assert!(line.starts_with("message=requests have no peer address"), "{line}");
    let remedies =
        ["into_make_service_with_connect_info::<SocketAddr>()", "extensions", "RateLimitLayer::peer_with"];
    for remedy in remedies {
        assert!(line.contains(remedy), "{line}");
    }
}

/// Rules that do not read the address need none.
#[tokio::test]
async fn a_missing_peer_is_no_error_where_no_rule_reads_it() {
    let lines = LogLines::of(TARGET);
    let _subscriber = set_default(lines.clone());
    let router = router(RateLimitLayer::per_header("x-api-key", ["2/h"]).expect("a layer"));
    assert_eq!(get(&router, "/").await.status(), StatusCode::OK);
    assert!(lines.take().is_empty());
}

#[tokio::test]
async fn the_application_finds_the_peer() {
    let lines = LogLines::of(TARGET);
    let _subscriber = set_default(lines.clone());
    let by_header = |layer: RateLimitLayer| {
        layer.peer_with(|parts| parts.headers.get("x-peer")?.to_str().ok()?.parse::<IpAddr>().ok())
    };
    let layer = by_header(RateLimitLayer::per_client(["1/h"]).expect("a layer"));
    let plain = router(layer);
    let rows = [
        ("192.0.2.1", StatusCode::OK),
        ("192.0.2.1", StatusCode::TOO_MANY_REQUESTS),
        ("192.0.2.2", StatusCode::OK),
        // One client of IPv6 has a /64; an embedded IPv4 address is that address.
        ("2001:db8::1", StatusCode::OK),
        ("2001:db8::2", StatusCode::TOO_MANY_REQUESTS),
        ("2001:db8:0:1::1", StatusCode::OK),
        ("::ffff:192.0.2.2", StatusCode::TOO_MANY_REQUESTS),
    ];
    for (peer, status) in rows {
        assert_eq!(send(&plain, request(peer)).await.status(), status, "{peer}");
    }
    assert!(lines.take().is_empty());
    // Without an address it is as missing as elsewhere.
    assert_eq!(get(&plain, "/").await.status(), StatusCode::OK);
    assert_eq!(get(&plain, "/").await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(lines.take().len(), 1);

    // What proxies report counts only if the peer is one of them.
    let layer = RateLimitLayer::per_client(["1/h"]).and_then(|layer| layer.trust_proxies(["10.0.0.0/8"]));
    let behind = router(by_header(layer.expect("a layer")));
    let rows = [
        ("10.0.0.1", "198.51.100.1", StatusCode::OK),
        ("10.0.0.2", "198.51.100.1", StatusCode::TOO_MANY_REQUESTS),
        ("10.0.0.1", "198.51.100.2", StatusCode::OK),
        ("192.0.2.1", "198.51.100.3", StatusCode::OK),
        ("192.0.2.1", "198.51.100.4", StatusCode::TOO_MANY_REQUESTS),
    ];
    for (peer, forwarded, status) in rows {
        let mut request = request(peer);
        request.headers_mut().insert("x-forwarded-for", forwarded.parse().expect("a value"));
        assert_eq!(send(&behind, request).await.status(), status, "{forwarded} by {peer}");
    }
}
