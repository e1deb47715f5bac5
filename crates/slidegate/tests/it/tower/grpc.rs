//! The layer in a tonic server: refusals are gRPC statuses.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::http::{Request, Response};
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
use tower::{Layer, Service};

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
