//! The tower layer over Redis: charges are settled in tasks, and a store that fails is a 503.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use slidegate::tower::RateLimitLayer;
use slidegate::{Gate, Redis};
use slidegate_testkit::servers::{Flavour, Proxy, RedisServer};
use tower::{Layer, ServiceExt, service_fn};

use crate::gates::policy;
use crate::redis::stores::{eventually, patient};
use crate::tower::{endings, ready};

const SLOTS: &str = "  - { name: slots, limits: [{ in_flight: 8, hold: 1h }] }\n";
const ONE_SLOT: &str = "  - { name: slots, limits: [{ in_flight: 1, hold: 1h }] }\n";

async fn used(gate: &Gate<Redis>) -> u64 {
    gate.used("slots", &slidegate::Request::new()).await.expect("an answer").expect("a subject")[0]
}

/// Waits until no slot is taken.
async fn until_free(gate: &Gate<Redis>) {
    eventually("no slot is taken", async || used(gate).await == 0).await;
}

/// Requests that end in every way, many at a time, and with full slots.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_slot_leaks_over_redis() {
    let server = RedisServer::start(Flavour::Redis70);
    endings::prove_no_leaks(Redis::new(&patient(&server.url())), Duration::from_millis(200)).await;
}

/// A server that stands still holds the decision; by then the client has left.
#[tokio::test]
async fn a_request_that_leaves_during_its_decision_gives_its_slot_back() {
    for wait in [Duration::ZERO, Duration::from_secs(60)] {
        let server = RedisServer::start(Flavour::Redis70);
        let proxy = Proxy::start(server.port());
        let gate = Arc::new(Gate::new(policy(SLOTS), Redis::new(&patient(&proxy.url()))));
        let service =
            RateLimitLayer::new(gate.clone()).wait(wait).layer(service_fn(|_: Request<Body>| async {
                Ok::<_, Infallible>(Response::new(Body::from("hello")))
            }));
        let request = || Request::get("/").body(Body::empty()).expect("a request");
        // The first request also loads the scripts.
        drop(service.clone().oneshot(request()).await.expect("a response"));
        until_free(&gate).await;
        server.stop();
        let before = proxy.counts().requests;
        let leaving = tokio::spawn(service.oneshot(request()));
        eventually("the decision is on its way", async || proxy.counts().requests > before).await;
        leaving.abort();
        assert!(leaving.await.expect_err("it left").is_cancelled());
        server.resume();
        // Answered after the decision.
        until_free(&gate).await;
        assert_eq!(gate.settlements().settled, 2, "both requests had a slot, wait {wait:?}");
    }
}

#[tokio::test]
async fn the_service_that_is_ready_gets_the_request_over_redis() {
    let server = RedisServer::start(Flavour::Redis70);
    for wait in [Duration::ZERO, Duration::from_secs(60)] {
        server.must(&["FLUSHALL"]);
        let gate = Gate::new(policy(ready::RULES), Redis::new(&patient(&server.url())));
        ready::prove_readiness(RateLimitLayer::new(Arc::new(gate)).wait(wait)).await;
    }
}

/// A request that waits for a slot leaves the queue with its client, and takes none.
#[tokio::test]
async fn a_request_that_leaves_its_queue_takes_no_slot() {
    let server = RedisServer::start(Flavour::Redis70);
    let gate = Gate::new(policy(ONE_SLOT), Redis::new(&patient(&server.url()))).max_waiting(1);
    let gate = Arc::new(gate);
    let layer = RateLimitLayer::new(gate.clone()).wait(Duration::from_secs(60));
    let service = layer.layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::from("hello")))
    }));
    let request = || Request::get("/").body(Body::empty()).expect("a request");
    let first = service.clone().oneshot(request()).await.expect("a response");
    let waiting = tokio::spawn(service.clone().oneshot(request()));
    // It joins the queue before anything else asks for the one position there.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // The queue has room for one: what comes then is refused at once.
    eventually("the queue is full", async || {
        let poll = tokio::time::timeout(Duration::from_millis(100), service.clone().oneshot(request())).await;
        matches!(poll, Ok(Ok(response)) if response.status() == StatusCode::TOO_MANY_REQUESTS)
    })
    .await;
    waiting.abort();
    assert!(waiting.await.expect_err("it left").is_cancelled());
    drop(first);
    eventually("the next request gets the slot", async || {
        service.clone().oneshot(request()).await.expect("a response").status() == StatusCode::OK
    })
    .await;
    until_free(&gate).await;
    assert_eq!(gate.settlements().settled, 2, "the request that left was not charged");
}

#[tokio::test]
async fn a_store_that_fails_is_a_503() {
    let server = RedisServer::start(Flavour::Redis70);
    let url = server.url();
    drop(server);
    let gate =
        Arc::new(Gate::new(policy("  - { name: api, limits: [5/min] }\n"), Redis::new(&patient(&url))));
    let service = RateLimitLayer::new(gate).layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::from("hello")))
    }));
    let request = Request::get("/").body(Body::empty()).expect("a request");
    let response = service.oneshot(request).await.expect("a response");
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
}
