//! The tower layer over a service with prepared responses, in virtual time.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Method, Request, Response, StatusCode};
use slidegate_client::{ReplayableBody, Retry, RetryLayer, Stop};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

use crate::environment::VirtualEnvironment;

/// Request that arrived.
#[derive(PartialEq, Eq, Debug)]
struct Arrival {
    at_ms: u128,
    method: Method,
    target: String,
    token: Option<String>,
    body: String,
}

/// Service that answers with prepared responses, then with 200, and only if it was polled ready.
struct PreparedService {
    shared: Arc<Prepared>,
    is_ready: bool,
}

struct Prepared {
    start: Instant,
    responses: Mutex<VecDeque<Response<()>>>,
    arrivals: Mutex<Vec<Arrival>>,
}

impl Clone for PreparedService {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), is_ready: false }
    }
}

impl<B: Into<String>> Service<Request<B>> for PreparedService {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Ready<Result<Response<()>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.is_ready = true;
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        assert!(std::mem::take(&mut self.is_ready), "called before it was ready");
        let (parts, body) = request.into_parts();
        let arrival = Arrival {
            at_ms: self.shared.start.elapsed().as_millis(),
            method: parts.method,
            target: parts.uri.to_string(),
            token: parts.headers.get("authorization").map(|value| value.to_str().expect("text").to_owned()),
            body: body.into(),
        };
        self.shared.arrivals.lock().expect("no panic").push(arrival);
        let response = self.shared.responses.lock().expect("no panic").pop_front();
        ready(Ok(response.unwrap_or_default()))
    }
}

fn service(responses: impl IntoIterator<Item = Response<()>>) -> PreparedService {
    let responses = Mutex::new(responses.into_iter().collect());
    let shared = Prepared { start: Instant::now(), responses, arrivals: Mutex::default() };
    PreparedService { shared: Arc::new(shared), is_ready: false }
}

fn refusal(retry_after: &str) -> Response<()> {
    let response = Response::builder().status(StatusCode::TOO_MANY_REQUESTS);
    response.header("retry-after", retry_after).body(()).expect("a response")
}

fn request<B>(body: B) -> Request<B> {
    let request = Request::post("https://api.example.com/orders").header("authorization", "Bearer 1");
    request.body(body).expect("a request")
}

/// Sends a request through the layer.
async fn send<B: ReplayableBody + Into<String> + Send + 'static>(
    inner: &PreparedService,
    body: B,
) -> Response<()> {
    let retry = Retry::in_environment(VirtualEnvironment::new());
    let mut service = RetryLayer::new(retry).layer(inner.clone());
    poll_fn(|context| Service::<Request<B>>::poll_ready(&mut service, context)).await.expect("it is ready");
    service.call(request(body)).await.expect("a response")
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_sent_again_unchanged() {
    let inner = service([refusal("3"), refusal("4")]);
    let response = send(&inner, "two apples".to_owned()).await;
    assert_eq!(response.status(), StatusCode::OK);
    let arrivals = inner.shared.arrivals.lock().expect("no panic");
    let times: Vec<u128> = arrivals.iter().map(|arrival| arrival.at_ms).collect();
    assert!(times[0] == 0 && times[1] >= 3_000 && times[2] >= times[1] + 4_000, "{times:?}");
    assert_eq!(times.len(), 3);
    for arrival in &*arrivals {
        let expected = Arrival {
            at_ms: arrival.at_ms,
            method: Method::POST,
            target: "https://api.example.com/orders".to_owned(),
            token: Some("Bearer 1".to_owned()),
            body: "two apples".to_owned(),
        };
        assert_eq!(*arrival, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_refusal_carries_the_reason() {
    let inner = service((0..9).map(|_| refusal("1")));
    let response = send(&inner, String::new()).await;
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(response.extensions().get(), Some(&Stop::AttemptsExhausted));
    assert_eq!(inner.shared.arrivals.lock().expect("no panic").len(), 5);
}

/// Body that can be read once.
struct StreamBody;

impl From<StreamBody> for String {
    fn from(_: StreamBody) -> Self {
        "stream".to_owned()
    }
}

impl ReplayableBody for StreamBody {
    fn replay(&self) -> Option<Self> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_sent_once() {
    let inner = service([refusal("1")]);
    let response = send(&inner, StreamBody).await;
    assert_eq!(response.extensions().get(), Some(&Stop::NotReplayable));
    assert_eq!(inner.shared.arrivals.lock().expect("no panic").len(), 1);
}
