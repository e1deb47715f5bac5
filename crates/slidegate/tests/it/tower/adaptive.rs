//! The layer over an adaptive limiter: slots, completions, partitions, refusals.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{Request, Response, StatusCode};
use axum::routing::get as on_get;
use http_body_util::BodyExt;
use serde_json::Value;
use slidegate::adaptive::{Adaptive, AdaptiveLimiter, RequestCompletion};
use slidegate::tower::{AdaptiveLayer, LimitedBody, RateLimitLayer};
use tokio::runtime::{Builder, Runtime};
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt, service_fn};

use super::charges::{Endless, end_by_path, end_in_every_way, request};
use super::{get, header, text};
use crate::adaptive::partitions::{Driver, prove_shares};

/// Layer with a limit that does not move.
fn fixed(limit: u32) -> AdaptiveLayer {
    let adaptive = Adaptive::gradient().min(limit).initial(limit).max(limit);
    AdaptiveLayer::new(adaptive.build().expect("valid settings"))
}

#[tokio::test]
async fn a_slot_is_occupied_until_the_body_ends() {
    let layer = fixed(2);
    let mut service = layer.layer(service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Body::from("hello")))
    }));
    let first = service.ready().await.expect("ready").call(request()).await.expect("a response");
    let second = service.call(request()).await.expect("a response");
    assert_eq!(layer.limiter().in_flight(), 2);
    let third = service.call(request()).await.expect("a response");
    assert_eq!(third.status(), StatusCode::SERVICE_UNAVAILABLE);
    // Read to its end, and dropped unread.
    first.into_body().collect().await.expect("a body");
    assert_eq!(layer.limiter().in_flight(), 1);
    drop(second);
    assert_eq!(layer.limiter().in_flight(), 0);
    assert_eq!(layer.limiter().refused(), 1);
}

#[tokio::test]
async fn a_slot_is_released_during_the_body_on_an_error_and_on_a_disconnect() {
    let layer = fixed(2);
    let endless = |frames_before_error| {
        layer.layer(service_fn(move |_: Request<Body>| async move {
            Ok::<_, Infallible>(Response::new(Endless { frames_before_error }))
        }))
    };
    let mut body = endless(Some(1)).oneshot(request()).await.expect("a response").into_body();
    assert!(body.frame().await.expect("a frame").is_ok());
    assert_eq!(layer.limiter().in_flight(), 1);
    assert!(body.frame().await.expect("a frame").is_err());
    assert_eq!(layer.limiter().in_flight(), 0, "after the error, though the body is still there");
    let mut body = endless(None).oneshot(request()).await.expect("a response").into_body();
    assert!(body.frame().await.expect("a frame").is_ok());
    assert_eq!(layer.limiter().in_flight(), 1);
    drop(body);
    assert_eq!(layer.limiter().in_flight(), 0);
}

#[tokio::test]
async fn a_slot_is_released_on_errors_panics_and_disconnects_before_the_response() {
    let layer = fixed(1);
    let failing = layer.layer(service_fn(|_: Request<Body>| async {
        Err::<Response<Body>, _>(std::io::Error::other("no response"))
    }));
    assert!(failing.oneshot(request()).await.is_err());
    assert_eq!(layer.limiter().in_flight(), 0);

    // In the future, and in the call that creates it.
    let panicking = layer.layer(service_fn(|_: Request<Body>| async {
        assert!(std::hint::black_box(false), "a handler that panics");
        Ok::<_, Infallible>(Response::new(Body::empty()))
    }));
    assert!(tokio::spawn(panicking.oneshot(request())).await.expect_err("a panic").is_panic());
    let panicking = layer.layer(service_fn(|_: Request<Body>| {
        assert!(std::hint::black_box(false), "a service that panics");
        std::future::ready(Ok::<_, Infallible>(Response::new(Body::empty())))
    }));
    assert!(tokio::spawn(panicking.oneshot(request())).await.expect_err("a panic").is_panic());
    assert_eq!(layer.limiter().in_flight(), 0);

    let hanging = layer
        .layer(service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>()));
    let mut waiting = Box::pin(hanging.oneshot(request()));
    assert!(futures_util::poll!(waiting.as_mut()).is_pending());
    assert_eq!(layer.limiter().in_flight(), 1);
    // As a time-out or a server does whose client goes away.
    drop(waiting);
    assert_eq!(layer.limiter().in_flight(), 0);
}

#[tokio::test]
async fn an_upgrade_returns_its_slot_with_the_response() {
    let layer = fixed(1);
    let upgrading = layer.layer(service_fn(|_: Request<Body>| async {
        let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        Ok::<_, Infallible>(response.body(Body::empty()).expect("a response"))
    }));
    let response = upgrading.oneshot(request()).await.expect("a response");
    assert_eq!(layer.limiter().in_flight(), 1);
    drop(response);
    assert_eq!(layer.limiter().in_flight(), 0);
}

#[tokio::test]
async fn no_slot_leaks_after_many_requests() {
    let layer = AdaptiveLayer::new(Adaptive::gradient().build().expect("valid settings"));
    end_in_every_way(layer.layer(service_fn(end_by_path))).await;
    let usage = layer.limiter().usage();
    assert_eq!((usage.in_flight, usage.refused), (0, 0), "{usage:?}");
}

/// Router whose handlers take 10 ms.
fn router(layer: AdaptiveLayer) -> Router {
    Router::new()
        .route("/", on_get(async || tokio::time::sleep(Duration::from_millis(10)).await))
        .layer(layer)
}

#[tokio::test]
async fn a_refusal_is_a_problem_without_a_time() {
    let layer = fixed(1);
    let _slot = layer.limiter().try_acquire("", Instant::now()).expect("nothing else runs");
    let refused = get(&router(layer), "/").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(header(&refused, "content-type"), "application/problem+json");
    assert!(!refused.headers().contains_key("retry-after"), "nobody knows when a slot will be free");
    let problem: Value = serde_json::from_str(&text(refused).await).expect("JSON");
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity");
    assert_eq!(problem["status"], 503);
    assert_eq!(problem["detail"], "as many requests run as the service can take; retry");
}

#[tokio::test]
async fn a_refusal_demands_a_wait_and_has_a_form_of_the_application() {
    let layer = fixed(1)
        .retry_after(Duration::from_millis(1_001))
        .partition_with(|parts| parts.uri.path())
        .refuse_with(|refusal| {
            let mut response = Response::new(Bytes::from(format!("{refusal:?}: {}", refusal.detail())));
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response
        });
    let _slot = layer.limiter().try_acquire("", Instant::now()).expect("nothing else runs");
    let refused = get(&router(layer), "/").await;
    assert_eq!((refused.status().as_u16(), header(&refused, "retry-after")), (429, "2"));
    let body = text(refused).await;
    assert_eq!(body, "Overloaded { partition: \"/\" }: as many requests run as the service can take; retry");
}

/// A request that a rate limit denies takes no slot.
#[tokio::test]
async fn it_composes_with_rate_limits() {
    let layer = fixed(1);
    let router = router(layer.clone()).layer(RateLimitLayer::global(["2/h"]).expect("a layer"));
    assert_eq!(get(&router, "/").await.status(), StatusCode::OK);
    let slot = layer.limiter().try_acquire("", Instant::now()).expect("nothing else runs");
    let refused = get(&router, "/").await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(header(&refused, "ratelimit"), "\"requests-2/h\";r=0;t=3600", "it was charged");
    assert_eq!(get(&router, "/").await.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(layer.limiter().refused(), 1);
    layer.limiter().release(slot, Instant::now(), RequestCompletion::Ignored);
    assert_eq!(layer.limiter().in_flight(), 0);
}

/// Limit of AIMD with a threshold of 20 ms after requests to a service, one after the other.
async fn limit_after(
    configure: impl Fn(AdaptiveLayer) -> AdaptiveLayer,
    service: impl AsyncFn() -> Result<Response<Body>, std::io::Error> + Clone,
) -> u32 {
    let adaptive = Adaptive::aimd(Duration::from_millis(20)).min(1).initial(2);
    let layer = configure(AdaptiveLayer::new(adaptive.build().expect("valid settings")));
    let service = layer.layer(service_fn(move |_: Request<Body>| {
        let service = service.clone();
        async move { service().await }
    }));
    for _ in 0..1_000 {
        if let Ok(response) = service.clone().oneshot(request()).await {
            // How long a client reads is no latency.
            tokio::time::sleep(Duration::from_millis(30)).await;
            drop(response);
        }
    }
    layer.limiter().limit()
}

#[tokio::test(start_paused = true)]
async fn latency_until_the_head_and_the_status_move_the_limit() {
    let status = |status: u16, latency_ms: u64| {
        async move || {
            tokio::time::sleep(Duration::from_millis(latency_ms)).await;
            let response = Response::builder().status(status).body(Body::from("slow to read"));
            Ok(response.expect("a response"))
        }
    };
    let plain = |layer| layer;
    assert!(limit_after(plain, status(200, 10)).await > 2, "fast: it grows");
    assert_eq!(limit_after(plain, status(200, 25)).await, 1, "slow: it shrinks");
    assert_eq!(limit_after(plain, status(503, 10)).await, 1, "an overload");
    assert_eq!(limit_after(plain, status(500, 25)).await, 2, "ignored");
    let all_succeed = |layer: AdaptiveLayer| layer.completion_with(|_| RequestCompletion::Success);
    assert!(limit_after(all_succeed, status(503, 10)).await > 2, "as configured");

    let error = async || {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Err(std::io::Error::other("timed out"))
    };
    assert_eq!(limit_after(plain, error).await, 1, "an overload");
    let ignored = |layer: AdaptiveLayer| layer.error_completion(RequestCompletion::Ignored);
    assert_eq!(limit_after(ignored, error).await, 2, "as configured");
}

#[test]
fn statuses_have_completions() {
    use RequestCompletion::{Ignored, Overload, Success};
    let rows = [
        (200, None, Success),
        (101, None, Success),
        (304, None, Success),
        (404, None, Ignored),
        (429, None, Ignored),
        (408, None, Overload),
        (500, None, Ignored),
        (503, None, Overload),
        (504, None, Overload),
        (200, Some("0"), Success),
        (200, Some("4"), Overload),
        (200, Some("8"), Ignored),
        (200, Some("14"), Overload),
    ];
    for (status, grpc_status, completion) in rows {
        let response = Response::builder().status(status);
        let response = grpc_status.into_iter().fold(response, |r, value| r.header("grpc-status", value));
        let (head, ()) = response.body(()).expect("a response").into_parts();
        assert_eq!(slidegate::tower::completion_of(&head), completion, "{status} {grpc_status:?}");
    }
}

/// Service that answers at once, with the status that a request asks for.
type Echo = BoxCloneSyncService<Request<Body>, Response<LimitedBody<Body>>, Infallible>;

/// The layer in paused time. A request runs while its response is there.
struct Layered {
    runtime: Runtime,
    layer: AdaptiveLayer,
    service: Echo,
}

impl Layered {
    fn new(limiter: AdaptiveLimiter) -> Self {
        let layer = AdaptiveLayer::new(limiter).partition_with(|parts| {
            parts.headers.get("x-partition").map_or("", |v| v.to_str().unwrap_or(""))
        });
        let service = layer.layer(service_fn(async |request: Request<Body>| {
            let status = request.uri().path()[1..].parse().expect("a status");
            Ok::<_, Infallible>(
                Response::builder().status::<u16>(status).body(Body::from("x")).expect("a body"),
            )
        }));
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        Self { runtime: runtime.expect("a runtime"), layer, service: BoxCloneSyncService::new(service) }
    }
}

impl Driver for Layered {
    type Slot = Response<LimitedBody<Body>>;

    fn limiter(&self) -> &AdaptiveLimiter {
        self.layer.limiter()
    }

    fn wait(&mut self, time: Duration) {
        self.runtime.block_on(tokio::time::advance(time));
    }

    fn try_acquire(&mut self, partition: &'static str, completion: RequestCompletion) -> Option<Self::Slot> {
        let status = match completion {
            RequestCompletion::Success => "/200",
            RequestCompletion::Overload => "/504",
            RequestCompletion::Ignored => "/404",
        };
        let request = Request::get(status).header("x-partition", partition).body(Body::empty());
        // The clock of the runtime is paused, and the layer reads it in the call.
        let Self { runtime, service, .. } = self;
        let response = runtime.block_on(async { service.call(request.expect("a request")).await });
        let response = response.expect("a response");
        (response.status() != StatusCode::SERVICE_UNAVAILABLE).then_some(response)
    }

    fn release(&mut self, response: Self::Slot, _: RequestCompletion) {
        self.runtime.block_on(async { drop(response) });
    }
}

#[test]
fn a_guaranteed_share_is_never_undercut_through_the_layer() {
    prove_shares(1_000, Layered::new);
}
