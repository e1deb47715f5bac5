//! The layer in a tonic server: refusals are gRPC statuses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use slidegate::Gate;
use slidegate::adaptive::{Adaptive, RequestCompletion};
use slidegate::tower::{AdaptiveLayer, LimitedBody, RateLimitLayer};
use tokio::net::TcpListener;
use tonic::Code;
use tonic::body::Body;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::{Layer, Service, ServiceExt, service_fn};

use super::header;
use crate::gates;

async fn serve<L>(layer: L) -> SocketAddr
where
    L: Layer<Routes> + Clone + Send + 'static,
    L::Service: Clone + Send + 'static,
    L::Service: Service<Request<Body>, Response = Response<LimitedBody<Body>>, Error = Infallible>,
    <L::Service as Service<Request<Body>>>::Future: Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (_, health) = tonic_health::server::health_reporter();
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    address
}

async fn client(address: SocketAddr) -> HealthClient<Channel> {
    let channel = Endpoint::from_shared(format!("http://{address}")).expect("an address").connect().await;
    HealthClient::new(channel.expect("a connection"))
}

#[tokio::test]
async fn calls_are_refused_with_a_status() {
    let layer = RateLimitLayer::global(["1/h"]).expect("a layer");
    let mut client = client(serve(layer).await).await;
    let request = || HealthCheckRequest { service: String::new() };
    let response = client.check(request()).await.expect("the first call passes");
    assert!(response.metadata().contains_key("ratelimit"));
    let status = client.check(request()).await.expect_err("one call an hour");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("requests-1/h: quota exceeded; retry in "), "{status:?}");
    let pushback = status.metadata().get("grpc-retry-pushback-ms").expect("a wait");
    let pushback: u64 = pushback.to_str().expect("text").parse().expect("a number");
    assert!((1..=3_600_000).contains(&pushback), "{pushback}");
}

#[tokio::test]
async fn an_attribute_that_cannot_be_used_is_no_bypass() {
    let layer = RateLimitLayer::per_header("x-user", ["1/h"]).expect("a layer");
    let mut client = client(serve(layer).await).await;
    let mut request = tonic::Request::new(HealthCheckRequest { service: String::new() });
    request.metadata_mut().append("x-user", "a".parse().expect("a value"));
    request.metadata_mut().append("x-user", "b".parse().expect("a value"));
    let status = client.check(request).await.expect_err("two values");
    assert_eq!(
        (status.code(), status.message()),
        (Code::InvalidArgument, "the header x-user is given twice")
    );
}

/// Refusal that a call expects: the rule, headers, status, pushback and message.
type RefusalRow = (&'static str, &'static [(&'static str, &'static str)], Code, &'static str, &'static str);

/// Calls to a rule of which the first one passes, if it can at all: `-1` tells a client not to
/// retry, and no pushback leaves it to the client.
#[tokio::test]
async fn every_refusal_has_its_code_and_its_pushback() {
    let rows: [RefusalRow; 6] = [
        (
            "{ name: api, limits: [1/h] }",
            &[],
            Code::ResourceExhausted,
            "3600000",
            "api-1/h: quota exceeded; retry in 3600000 ms",
        ),
        (
            "{ name: api, limits: [1/h] }",
            &[("x-cost", "2")],
            Code::ResourceExhausted,
            "-1",
            "the cost exceeds",
        ),
        ("{ name: api, limits: [{ in_flight: 1, hold: 30s }] }", &[], Code::ResourceExhausted, "", "quota"),
        (
            "{ name: api, limits: [9/h], deny: [{ user: mallory }] }",
            &[("x-user", "mallory")],
            Code::PermissionDenied,
            "-1",
            "rule api blocks this request: it is on its deny list",
        ),
        (
            "{ name: api, key: [user], limits: [9/h], missing: deny }",
            &[],
            Code::PermissionDenied,
            "-1",
            "rule api blocks this request: it lacks an attribute of its key",
        ),
        (
            "{ name: api, limits: [9/h] }",
            &[("x-user", "a"), ("x-user", "b")],
            Code::InvalidArgument,
            "-1",
            "the header x-user is given twice",
        ),
    ];
    for (rule, headers, code, pushback, message) in rows {
        let (gate, _) = gates::gate(&format!("  - {rule}\n"));
        let layer = RateLimitLayer::new(Arc::new(gate))
            .attribute("user", "x-user")
            .cost_with(|parts| parts.headers.get("x-cost").map_or(1, |_| 2));
        let service = layer
            .layer(service_fn(async |_: Request<Body>| Ok::<_, Infallible>(Response::new(Body::default()))));
        let call = async || {
            let request = Request::post("/grpc").header("content-type", "application/grpc+proto");
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
            let request = request.body(Body::default()).expect("a request");
            service.clone().oneshot(request).await.expect("refusals are responses")
        };
        // It holds the slot in flight.
        let _first = call().await;
        let refused = call().await;
        assert_eq!(refused.status(), StatusCode::OK, "{rule}");
        assert_eq!(header(&refused, "content-type"), "application/grpc", "{rule}");
        assert_eq!(header(&refused, "grpc-status"), (code as i32).to_string(), "{rule}");
        assert_eq!(header(&refused, "grpc-retry-pushback-ms"), pushback, "{rule}");
        assert_eq!(header(&refused, "retry-after").is_empty(), pushback != "3600000", "{rule}");
        assert!(header(&refused, "grpc-message").contains(message), "{rule}: {refused:?}");
        let body = refused.into_body().collect().await.expect("a body").to_bytes();
        assert!(body.is_empty(), "{rule}");
    }
}

/// As tonic reads it.
#[tokio::test]
async fn a_call_that_a_rule_blocks_is_denied() {
    let (gate, _) = gates::gate("  - { name: api, limits: [9/h], deny: [{ user: mallory }] }\n");
    let layer = RateLimitLayer::new(Arc::new(gate)).attribute("user", "x-user");
    let mut client = client(serve(layer).await).await;
    let mut request = tonic::Request::new(HealthCheckRequest { service: String::new() });
    request.metadata_mut().append("x-user", "mallory".parse().expect("a value"));
    let status = client.check(request).await.expect_err("it is on the deny list");
    assert_eq!(status.code(), Code::PermissionDenied);
    let pushback = status.metadata().get("grpc-retry-pushback-ms").expect("a pushback");
    assert_eq!(pushback, "-1", "no retry is of use");
}

/// When the store is back is unknown: the client retries as it likes.
#[cfg(feature = "redis")]
#[tokio::test]
async fn a_call_without_a_store_is_unavailable() {
    let gate = Gate::new(gates::policy("  - { name: api, limits: [9/h] }\n"), super::failures::nowhere());
    let mut client = client(serve(RateLimitLayer::new(Arc::new(gate))).await).await;
    let request = HealthCheckRequest { service: String::new() };
    let status = client.check(request).await.expect_err("no store");
    assert_eq!(
        (status.code(), status.message()),
        (Code::Unavailable, "the store of the rate limits is unavailable; retry")
    );
    assert!(status.metadata().get("grpc-retry-pushback-ms").is_none());
}

#[tokio::test]
async fn calls_beyond_an_adaptive_limit_are_unavailable() {
    let limiter = || Adaptive::gradient().min(1).initial(1).max(1).build().expect("valid settings");
    let request = || HealthCheckRequest { service: String::new() };
    let plain = AdaptiveLayer::new(limiter());
    let patient = AdaptiveLayer::new(limiter()).retry_after(Duration::from_micros(1_500_100));
    for (layer, pushback) in [(plain, None), (patient, Some("1501"))] {
        let mut client = client(serve(layer.clone()).await).await;
        let limiter = layer.limiter();
        let slot = limiter.try_acquire("", Instant::now()).expect("nothing else runs");
        let status = client.check(request()).await.expect_err("the only slot is taken");
        assert_eq!(status.code(), Code::Unavailable);
        assert_eq!(status.message(), "as many requests run as the service can take; retry");
        let metadata = status.metadata().get("grpc-retry-pushback-ms");
        assert_eq!(metadata.map(|value| value.to_str().expect("text")), pushback);
        assert!(status.metadata().get("retry-after").is_none());
        limiter.release(slot, Instant::now(), RequestCompletion::Ignored);
        client.check(request()).await.expect("the slot is free");
        assert_eq!((limiter.in_flight(), limiter.refused()), (0, 1));
    }
}
