//! The tower layer over Redis: charges are settled in tasks, and a store that fails is a 503.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use slidegate::tower::RateLimitLayer;
use slidegate::{Gate, Redis};
use slidegate_testkit::servers::{Flavour, RedisServer};
use tower::{Layer, ServiceExt, service_fn};

use crate::gates::policy;
use crate::redis::stores::patient;

const SLOTS: &str = "  - { name: slots, limits: [{ in_flight: 8, hold: 1h }] }\n";

async fn used(gate: &Gate<Redis>) -> u64 {
    gate.used("slots", &slidegate::Request::new()).await.expect("an answer").expect("a subject")[0]
}

#[tokio::test]
async fn slots_return_however_a_request_ends() {
    let server = RedisServer::start(Flavour::Redis70);
    let gate = Arc::new(Gate::new(policy(SLOTS), Redis::new(&patient(&server.url()))));
    let service = RateLimitLayer::new(gate.clone()).layer(service_fn(|request: Request<Body>| async move {
        match request.uri().path() {
            "/error" => Err(std::io::Error::other("no response")),
            "/hang" => std::future::pending().await,
            _ => Ok(Response::new(Body::from("hello"))),
        }
    }));
    for round in 0..50 {
        let paths = ["/", "/error", "/hang", "/"];
        let responses = paths.map(|path| {
            let request = Request::get(path).body(Body::empty()).expect("a request");
            tokio::spawn(service.clone().oneshot(request))
        });
        for (path, response) in paths.into_iter().zip(responses) {
            match path {
                "/hang" => response.abort(),
                "/error" => assert!(response.await.expect("no panic").is_err()),
                _ => {
                    let response = response.await.expect("no panic").expect("a response");
                    assert_eq!(response.status(), StatusCode::OK, "round {round}");
                }
            }
        }
        // Tasks settle, also after a decision whose request was cancelled.
        let mut left = used(&gate).await;
        let mut attempts = 0;
        while left > 0 && attempts < 1_000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            (left, attempts) = (used(&gate).await, attempts + 1);
        }
        assert_eq!(left, 0, "round {round}");
    }
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
