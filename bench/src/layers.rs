//! Layers for tower around one service: ours, those of others, and none.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::ConnectInfo;
use axum::http::{Request, Response, StatusCode};
use axum_governor::Quota;
use axum_governor::extractor::PeerIp;
use slidegate::headers::{Headers, Reset, Style};
use slidegate::tower::RateLimitLayer;
use slidegate::{Limit, LimitError};
use tower::{Layer, Service, service_fn};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;

use crate::turn_times::Turn;

/// Clients, each with an address of its own.
pub const CLIENTS: usize = 1_000;
/// Quota that is never used up.
const AMPLE: u32 = 100_000_000;
const DAY: Duration = Duration::from_secs(86_400);

/// Service behind the layers.
type Handler = fn(Request<Body>) -> Ready<Result<Response<Body>, Infallible>>;

/// Answer to every request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayerAnswer {
    /// The service is called.
    Allowed,
    /// The quota of one a day is used up.
    Denied,
}

impl LayerAnswer {
    fn status(self) -> StatusCode {
        match self {
            Self::Allowed => StatusCode::OK,
            Self::Denied => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    fn limit(self) -> &'static str {
        match self {
            Self::Allowed => "100000000/min",
            Self::Denied => "1/day",
        }
    }
}

/// Layer around the service, with one request of every client.
pub struct LayerTurn<S> {
    service: S,
    status: StatusCode,
    requests: Vec<Request<Body>>,
}

fn handle(_: Request<Body>) -> Ready<Result<Response<Body>, Infallible>> {
    ready(Ok(Response::new(Body::empty())))
}

fn handler() -> tower::util::ServiceFn<Handler> {
    service_fn(handle as Handler)
}

/// One request of every client, in an order that is no order of addresses.
fn requests() -> Vec<Request<Body>> {
    let request = |n: usize| {
        let client = n * 617 % CLIENTS;
        let address = SocketAddr::from(([203, 0, (client >> 8) as u8, client as u8], 40_000));
        let request = Request::get("http://api.example.com/v1/items/17?page=2");
        request.extension(ConnectInfo(address)).body(Body::empty()).expect("a request")
    };
    (0..CLIENTS).map(request).collect()
}

impl<S, B> LayerTurn<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: HttpBody<Data = Bytes>,
{
    fn new(service: S, answer: LayerAnswer, headers: &[&str]) -> Self {
        let mut turn = Self { service, status: answer.status(), requests: Vec::new() };
        for request in requests() {
            drop(turn.call(request));
        }
        // Now every client is known, and has used up a quota of one.
        for request in requests() {
            let response = turn.call(request);
            assert_eq!(response.status(), turn.status);
            for header in headers {
                assert!(response.headers().contains_key(*header), "{header} is missing");
            }
        }
        turn
    }

    #[inline(always)]
    fn call(&mut self, request: Request<Body>) -> Response<B> {
        let mut context = Context::from_waker(Waker::noop());
        assert!(self.service.poll_ready(&mut context).is_ready());
        match pin!(self.service.call(request)).poll(&mut context) {
            Poll::Ready(Ok(response)) => response,
            Poll::Pending => panic!("nothing has to be waited for"),
        }
    }
}

impl<S, B> Turn for LayerTurn<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible>,
    B: HttpBody<Data = Bytes>,
{
    fn prepare(&mut self) {
        self.requests.extend(requests());
    }

    fn run(&mut self) {
        // The list keeps its memory, which would cost the allocator more than the requests.
        let mut requests = std::mem::take(&mut self.requests);
        for request in requests.drain(..) {
            assert_eq!(self.call(request).status(), self.status);
        }
        self.requests = requests;
    }
}

/// The service alone.
pub fn none() -> impl Turn {
    LayerTurn::new(handler(), LayerAnswer::Allowed, &[])
}

/// Ours, with the limits of its constructor and these header fields.
pub fn ours(style: Style, answer: LayerAnswer) -> impl Turn {
    let headers = Headers { style, ..Headers::default() };
    let layer = RateLimitLayer::per_client([answer.limit()]).expect("a limit").headers(headers);
    LayerTurn::new(layer.layer(handler()), answer, fields(style))
}

fn fields(style: Style) -> &'static [&'static str] {
    match style {
        Style::Draft => &["ratelimit", "ratelimit-policy"],
        Style::XRateLimit(_) => &["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"],
        Style::Legacy | Style::None => &[],
    }
}

/// Style `X-RateLimit`, as most services have it.
pub const X_RATELIMIT: Style = Style::XRateLimit(Reset::Delta);

/// Ours with an in-flight limit, which ends with the response.
pub fn ours_in_flight() -> impl Turn {
    let limit: Result<Limit, LimitError> = Limit::in_flight(100, Duration::from_secs(60));
    let layer = RateLimitLayer::per_client(limit).expect("a limit");
    LayerTurn::new(layer.layer(handler()), LayerAnswer::Allowed, fields(Style::Draft))
}

/// `tower_governor` with its header fields.
pub fn tower_governor(answer: LayerAnswer) -> impl Turn {
    let (period, burst) = match answer {
        LayerAnswer::Allowed => (Duration::from_micros(1), AMPLE),
        LayerAnswer::Denied => (DAY, 1),
    };
    let config = GovernorConfigBuilder::default().period(period).burst_size(burst).use_headers().finish();
    let layer = GovernorLayer::new(config.expect("a quota"));
    LayerTurn::new(layer.layer(handler()), answer, &["x-ratelimit-limit", "x-ratelimit-remaining"])
}

/// `axum-governor`, without its background task.
pub fn axum_governor(answer: LayerAnswer) -> impl Turn {
    let quota = match answer {
        LayerAnswer::Allowed => Quota::requests_per_minute(NonZeroU32::new(AMPLE).expect("not 0")),
        LayerAnswer::Denied => Quota::from(governor::Quota::with_period(DAY).expect("not 0")),
    };
    let config = axum_governor::GovernorConfigBuilder::default()
        .with_extractor(PeerIp::default())
        .expect_connect_info()
        .quota_default(quota)
        .gc_disable()
        .finish();
    let layer = axum_governor::GovernorLayer::new(config.expect("a configuration"));
    LayerTurn::new(layer.layer(handler()), answer, &["ratelimit", "ratelimit-policy"])
}
