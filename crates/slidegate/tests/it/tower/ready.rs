//! Inner services that have to be ready: the one that was polled gets the request, not its clone.

use std::io::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use slidegate::tower::RateLimitLayer;
use slidegate::{Clock, Memory, SyncStore};
use tower::{Layer, Service, ServiceExt};

use crate::gates::policy;

/// Service that takes one request whenever it was polled until it was ready. A clone was not.
#[derive(Debug)]
struct OneAtATime {
    is_ready: bool,
    polls: u32,
    calls: Arc<AtomicU64>,
}

impl OneAtATime {
    fn new() -> Self {
        Self { is_ready: false, polls: 0, calls: Arc::default() }
    }
}

impl Clone for OneAtATime {
    fn clone(&self) -> Self {
        Self { is_ready: false, polls: 0, calls: Arc::clone(&self.calls) }
    }
}

impl Service<Request<Body>> for OneAtATime {
    type Response = Response<Body>;
    type Error = Error;
    type Future = std::future::Ready<Result<Response<Body>, Error>>;

    /// Ready after a pause, as a service behind a queue is.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.polls += 1;
        if self.polls.is_multiple_of(2) {
            self.is_ready = true;
            return Poll::Ready(Ok(()));
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, _: Request<Body>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "a service that is not ready is called");
        self.calls.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Ok(Response::new(Body::empty())))
    }
}

/// Sends requests to a service behind a layer with a limit of three an hour, each after the service
/// was ready: three of them get to it.
pub(crate) async fn prove_readiness<S: SyncStore + 'static, C: Clock + 'static>(layer: RateLimitLayer<S, C>) {
    let inner = OneAtATime::new();
    let calls = Arc::clone(&inner.calls);
    let mut service = layer.layer(inner);
    for n in 0..5 {
        let request = Request::get("/").body(Body::empty()).expect("a request");
        let response = service.ready().await.expect("ready").call(request).await.expect("a response");
        let status = if n < 3 { StatusCode::OK } else { StatusCode::TOO_MANY_REQUESTS };
        assert_eq!(response.status(), status, "request {n}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

/// Policy of [`prove_readiness`].
pub(crate) const RULES: &str = "  - { name: api, limits: [3/h] }\n";

#[tokio::test]
async fn the_service_that_is_ready_gets_the_request() {
    for wait in [Duration::ZERO, Duration::from_secs(60)] {
        let gate = Arc::new(slidegate::Gate::new(policy(RULES), Memory::default()));
        prove_readiness(RateLimitLayer::new(gate).wait(wait)).await;
    }
}

/// The layer is as ready as its service, and has its errors.
#[tokio::test]
async fn readiness_is_that_of_the_service() {
    let inner = tower::service_fn(async |_: Request<Body>| Ok::<_, Error>(Response::new(Body::empty())));
    let failing = Unready { inner, error: "out of order" };
    let mut service = RateLimitLayer::global(["1/h"]).expect("a layer").layer(failing);
    let error = service.ready().await.err().expect("an error");
    assert_eq!(error.to_string(), "out of order");
}

/// Service that is never ready.
#[derive(Clone)]
struct Unready<T> {
    inner: T,
    error: &'static str,
}

impl<T: Service<Request<Body>, Error = Error>> Service<Request<Body>> for Unready<T> {
    type Response = T::Response;
    type Error = Error;
    type Future = T::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Err(Error::other(self.error)))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.inner.call(request)
    }
}
