//! The layer in a bare hyper server: real connections, and a client that goes away.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use slidegate::adaptive::Adaptive;
use slidegate::tower::{AdaptiveLayer, LimitedBody, RateLimitLayer};
use slidegate::{Gate, Memory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::util::ServiceFn;
use tower::{Layer, Service, service_fn};

use crate::gates::policy;

const RULES: &str = "  - { name: slots, key: [ip], limits: [2/h, { in_flight: 1, hold: 1h }] }\n";

type Greeting = Pin<Box<dyn Future<Output = Result<Response<Full<Bytes>>, Infallible>> + Send>>;

/// Answers, except at `/hang`.
fn greet(request: Request<Incoming>) -> Greeting {
    Box::pin(async move {
        if request.uri().path() == "/hang" {
            std::future::pending::<()>().await;
        }
        Ok(Response::new(Full::new(Bytes::from_static(b"hello"))))
    })
}

async fn serve<L>(listener: TcpListener, layer: L)
where
    L: Layer<ServiceFn<fn(Request<Incoming>) -> Greeting>>,
    L::Service: Clone + Send + 'static,
    L::Service: Service<Request<Incoming>, Response = Response<LimitedBody<Full<Bytes>>>, Error = Infallible>,
    <L::Service as Service<Request<Incoming>>>::Future: Send,
{
    loop {
        let (stream, peer) = listener.accept().await.expect("a connection");
        let service = layer.layer(service_fn(greet as fn(_) -> _));
        // Bare hyper has no extension with the address of the peer.
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            tower::ServiceExt::oneshot(service.clone(), request)
        });
        let connection = hyper::server::conn::http1::Builder::new();
        tokio::spawn(connection.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)));
    }
}

async fn exchange(address: std::net::SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await.expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).await.expect("a response");
    response
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_slot() {
    let gate = Arc::new(Gate::new(policy(RULES), Memory::default()));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(listener, RateLimitLayer::new(gate.clone())));
    let used = || async {
        let request = slidegate::Request::new().with("ip", "127.0.0.1");
        gate.used("slots", &request).await.expect("an answer").expect("a subject")
    };

    let mut hanging = TcpStream::connect(address).await.expect("a connection");
    hanging.write_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    while used().await != [1, 1] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let refused = exchange(address).await;
    assert!(refused.starts_with("HTTP/1.1 429 "), "{refused}");
    drop(hanging);
    while used().await != [1, 0] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let allowed = exchange(address).await;
    assert!(allowed.starts_with("HTTP/1.1 200 ") && allowed.contains("ratelimit: "), "{allowed}");
    let refused = exchange(address).await;
    assert!(refused.contains("slots-2/h: quota exceeded"), "{refused}");
}

#[tokio::test]
async fn a_client_that_goes_away_frees_its_adaptive_slot() {
    let limiter = Adaptive::gradient().min(1).initial(1).max(1).build().expect("valid settings");
    let layer = AdaptiveLayer::new(limiter);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(serve(listener, layer.clone()));
    let in_flight = async |expected: u32| {
        while layer.limiter().in_flight() != expected {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };

    let mut hanging = TcpStream::connect(address).await.expect("a connection");
    hanging.write_all(b"GET /hang HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("it reads");
    in_flight(1).await;
    let refused = exchange(address).await;
    assert!(
        refused.starts_with("HTTP/1.1 503 ") && refused.contains("temporary-reduced-capacity"),
        "{refused}"
    );
    drop(hanging);
    in_flight(0).await;
    let allowed = exchange(address).await;
    assert!(allowed.starts_with("HTTP/1.1 200 ") && allowed.ends_with("hello"), "{allowed}");
    in_flight(0).await;
}
