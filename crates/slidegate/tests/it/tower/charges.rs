//! Slots in flight and reserved costs: they return however a request ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Frame;
use slidegate::tower::{ChargeGuard, ChargeHandle, LimitedBody, RateLimitLayer};
use slidegate::{Gate, Memory};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::gates::policy;

const SLOTS: &str = "  - { name: slots, limits: [{ in_flight: 2, hold: 1h }] }\n";
const TOKENS: &str = "  - { name: tokens, refundable: true, limits: [100/h] }\n";

pub(super) fn gate(rules: &str) -> Arc<Gate<Memory>> {
    Arc::new(Gate::new(policy(rules), Memory::default()))
}

/// Units in use of the only rule.
pub(super) async fn used(gate: &Gate<Memory>, rule: &str) -> u64 {
    let used = gate.used(rule, &slidegate::Request::new()).await.expect("an answer");
    used.expect("a subject")[0]
}

pub(super) fn request() -> Request<Body> {
    Request::get("/").body(Body::empty()).expect("a request")
}

/// Body that yields frames forever, and an error after so many.
pub(super) struct Endless {
    pub(super) frames_before_error: Option<u32>,
}

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(Some(match &mut self.frames_before_error {
            Some(0) => Err(std::io::Error::other("cut off")),
            Some(frames) => {
                *frames -= 1;
                Ok(Frame::data(Bytes::from_static(b"x")))
            }
            None => Ok(Frame::data(Bytes::from_static(b"x"))),
        }))
    }
}

#[tokio::test]
async fn a_slot_is_occupied_until_the_body_ends() {
    let gate = gate(SLOTS);
    let layer = RateLimitLayer::new(gate.clone());
    let mut service = layer.layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::from("hello")))
    }));
    let first = service.ready().await.expect("ready").call(request()).await.expect("a response");
    let second = service.call(request()).await.expect("a response");
    assert_eq!(used(&gate, "slots").await, 2);
    let third = service.call(request()).await.expect("a response");
    assert_eq!(third.status(), StatusCode::TOO_MANY_REQUESTS);
    assert!(third.headers().get("retry-after").is_none(), "a slot may be free at any time");
    // Read to its end, and dropped unread.
    first.into_body().collect().await.expect("a body");
    assert_eq!(used(&gate, "slots").await, 1);
    drop(second);
    assert_eq!(used(&gate, "slots").await, 0);
}

#[tokio::test]
async fn a_slot_is_released_during_the_body_on_an_error_and_on_a_disconnect() {
    let gate = gate(SLOTS);
    let endless = |frames_before_error| {
        RateLimitLayer::new(gate.clone()).layer(service_fn(move |_: Request<Body>| async move {
            Ok::<_, Infallible>(Response::new(Endless { frames_before_error }))
        }))
    };
    let mut body = endless(Some(2)).oneshot(request()).await.expect("a response").into_body();
    for _ in 0..2 {
        assert!(body.frame().await.expect("a frame").is_ok());
        assert_eq!(used(&gate, "slots").await, 1);
    }
    assert!(body.frame().await.expect("a frame").is_err());
    assert_eq!(used(&gate, "slots").await, 0, "after the error, though the body is still there");
    let mut body = endless(None).oneshot(request()).await.expect("a response").into_body();
    assert!(body.frame().await.expect("a frame").is_ok());
    assert_eq!(used(&gate, "slots").await, 1);
    drop(body);
    assert_eq!(used(&gate, "slots").await, 0);
}

#[tokio::test]
async fn a_slot_is_released_on_errors_panics_and_disconnects_before_the_response() {
    let gate = gate(SLOTS);
    let layer = RateLimitLayer::new(gate.clone());
    let failing = layer.layer(service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(std::io::Error::other("no response"))
    }));
    assert!(failing.oneshot(request()).await.is_err());
    assert_eq!(used(&gate, "slots").await, 0);

    let panicking = layer.layer(service_fn(|_: Request<Body>| async {
        assert!(std::hint::black_box(false), "a handler that panics");
        Ok::<_, Infallible>(Response::new(Body::empty()))
    }));
    assert!(tokio::spawn(panicking.oneshot(request())).await.expect_err("a panic").is_panic());
    assert_eq!(used(&gate, "slots").await, 0);

    let hanging = layer
        .layer(service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>()));
    let waiting = tokio::spawn(hanging.oneshot(request()));
    while used(&gate, "slots").await == 0 {
        tokio::task::yield_now().await;
    }
    // As a time-out or a server does whose client goes away.
    waiting.abort();
    assert!(waiting.await.expect_err("cancelled").is_cancelled());
    assert_eq!(used(&gate, "slots").await, 0);
}

#[tokio::test]
async fn an_upgraded_connection_keeps_its_slot() {
    let gate = gate(SLOTS);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<ChargeGuard>();
    let service = RateLimitLayer::new(gate.clone()).layer(service_fn(move |request: Request<Body>| {
        let charged: &ChargeHandle = request.extensions().get().expect("a charge");
        let charge = charged.keep().expect("the response has not ended");
        sender.send(charge).expect("a receiver");
        async {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            Ok::<_, Infallible>(response)
        }
    }));
    drop(service.oneshot(request()).await.expect("a response"));
    let charge = receiver.recv().await.expect("a charge");
    assert_eq!(used(&gate, "slots").await, 1, "the response has ended, the connection has not");
    drop(charge);
    assert_eq!(used(&gate, "slots").await, 0);
}

#[tokio::test]
async fn a_reserved_cost_is_settled_after_the_response() {
    let gate = gate(TOKENS);
    let layer = RateLimitLayer::new(gate.clone()).cost_with(|_| 40);
    let settling = layer.layer(service_fn(|request: Request<Body>| async move {
        let charged: &ChargeHandle = request.extensions().get().expect("a charge");
        assert!(charged.settle(15));
        Ok::<_, Infallible>(Response::new(Body::from("fifteen tokens")))
    }));
    let response = settling.oneshot(request()).await.expect("a response");
    assert_eq!(used(&gate, "tokens").await, 40, "the body has not ended");
    drop(response);
    assert_eq!(used(&gate, "tokens").await, 15);
    // Without a settlement the estimate stands.
    let silent = layer.layer(service_fn(|request: Request<Body>| async move {
        let charged: &ChargeHandle = request.extensions().get().expect("a charge");
        Ok::<_, Infallible>(Response::new(Body::from(format!("{charged:?}"))))
    }));
    drop(silent.oneshot(request()).await.expect("a response"));
    assert_eq!(used(&gate, "tokens").await, 55);
}

#[tokio::test]
async fn a_charge_cannot_be_settled_after_its_response() {
    let gate = gate(TOKENS);
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel::<ChargeHandle>();
    let service = RateLimitLayer::new(gate.clone()).layer(service_fn(move |request: Request<Body>| {
        sender
            .send(request.extensions().get::<ChargeHandle>().expect("a charge").clone())
            .expect("a receiver");
        async { Ok::<_, Infallible>(Response::new(Body::empty())) }
    }));
    drop(service.oneshot(request()).await.expect("a response"));
    let late = receiver.recv().await.expect("a charge");
    assert!(!late.settle(0) && late.keep().is_none());
    assert_eq!(used(&gate, "tokens").await, 1);
}

#[tokio::test]
async fn nothing_leaks_after_many_requests() {
    let gate = gate("  - { name: slots, limits: [{ in_flight: 64, hold: 1h }] }\n");
    end_in_every_way(RateLimitLayer::new(gate.clone()).layer(service_fn(end_by_path))).await;
    assert_eq!(used(&gate, "slots").await, 0);
}

/// Response, error or no end, as the path says.
pub(super) async fn end_by_path(request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
    match request.uri().path() {
        "/error" => Err(std::io::Error::other("no response")),
        "/hang" => std::future::pending().await,
        _ => Ok(Response::new(Body::from("hello"))),
    }
}

/// Sends requests to a limited [`end_by_path`], none of which is refused: bodies are read or
/// dropped, and requests that hang are cancelled.
pub(super) async fn end_in_every_way<S>(service: S)
where
    S: Service<Request<Body>, Response = Response<LimitedBody<Body>>, Error = std::io::Error> + Clone,
{
    let count: u32 = std::env::var("SLIDEGATE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000);
    for n in 0..count {
        let path = ["/", "/error", "/hang", "/unread"][n as usize % 4];
        let request = Request::get(path).body(Body::empty()).expect("a request");
        let mut response = Box::pin(service.clone().oneshot(request));
        match futures_util::poll!(response.as_mut()) {
            Poll::Ready(Ok(response)) if path == "/" => {
                assert_eq!(response.status(), StatusCode::OK, "request {n}");
                response.into_body().collect().await.expect("a body");
            }
            Poll::Ready(Ok(response)) => assert_eq!(response.status(), StatusCode::OK, "request {n}"),
            Poll::Ready(Err(_)) | Poll::Pending => {}
        }
    }
}
