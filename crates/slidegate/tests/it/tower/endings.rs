//! Requests that end in every way, many at a time: no slot in flight is lost.
//!
//! `SLIDEGATE_TOWER_REQUESTS` is their number, over memory and over Redis.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use slidegate::tower::{ChargeHandle, RateLimitLayer};
use slidegate::{Gate, SyncStore};
use tokio::task::{JoinSet, yield_now};
use tower::timeout::Timeout;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// Requests at the same time. More than there are slots, so that some are refused or wait.
const CLIENTS: u64 = 96;
pub(crate) const RULES: &str = "  - { name: slots, limits: [{ in_flight: 64, hold: 1h }] }
  - { name: tokens, refundable: true, limits: [{ quota: 1000000000, window: 1h, algorithm: counter }] }
";
/// Time after which a handler that hangs is cut off.
const TIMEOUT: Duration = Duration::from_millis(2);
/// Longest wait of a request for a slot.
const WAIT: Duration = Duration::from_millis(50);

/// Number of requests of a run.
pub(crate) fn requests() -> u64 {
    std::env::var("SLIDEGATE_TOWER_REQUESTS").map_or(5_000, |count| count.parse().expect("a number"))
}

/// End of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    /// The body is read to its end.
    Read,
    /// The body is dropped unread.
    Unread,
    /// The client leaves after a part of the body.
    LeavesDuringBody,
    /// The body fails.
    BodyFails,
    /// The service fails.
    Error,
    /// The handler panics.
    Panic,
    /// The handler hangs until a time-out.
    TimeOut,
    /// The client leaves after this many polls: while the store decides, while the request waits,
    /// or while the handler hangs.
    Leaves(u64),
    /// The connection is upgraded, and outlasts its response.
    Upgrade,
}

impl Ending {
    const KINDS: u64 = 9;

    fn of(request: u64) -> Self {
        match request % Self::KINDS {
            0 => Self::Read,
            1 => Self::Unread,
            2 => Self::LeavesDuringBody,
            3 => Self::BodyFails,
            4 => Self::Error,
            5 => Self::Panic,
            6 => Self::TimeOut,
            7 => Self::Leaves(request / Self::KINDS % 8),
            _ => Self::Upgrade,
        }
    }
}

/// Body of a few frames, with an error at its end or not.
struct Frames {
    left: u32,
    fails: bool,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(match self.left {
            0 if self.fails => Some(Err(std::io::Error::other("cut off"))),
            0 => None,
            _ => {
                self.left -= 1;
                Some(Ok(Frame::data(Bytes::from_static(b"frame"))))
            }
        })
    }
}

/// Runs requests with all endings over a gate with [`RULES`], half of them with a wait for their
/// slot. Returns the number that the handler got.
pub(crate) async fn run<S: SyncStore + 'static>(gate: &Arc<Gate<S>>) -> u64 {
    let handled = Arc::new(AtomicU64::new(0));
    let next = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (gate, handled, next) = (Arc::clone(gate), Arc::clone(&handled), Arc::clone(&next));
        clients.spawn(async move {
            let handler = service_fn(move |request: Request<Ending>| {
                handled.fetch_add(1, Ordering::Relaxed);
                handle(request)
            });
            let at_once = Timeout::new(RateLimitLayer::new(gate.clone()).layer(handler.clone()), TIMEOUT);
            let patient = RateLimitLayer::new(gate).wait(WAIT).layer(handler);
            loop {
                let request = next.fetch_add(1, Ordering::Relaxed);
                if request >= requests() {
                    return;
                }
                let ending = Ending::of(request);
                // A handler that hangs needs the time-out, or a client that leaves.
                if request / 2 % 2 == 0 || ending == Ending::TimeOut {
                    send(at_once.clone(), ending).await;
                } else {
                    send(patient.clone(), ending).await;
                }
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("no client panics");
    }
    handled.load(Ordering::Relaxed)
}

async fn handle(request: Request<Ending>) -> Result<Response<Frames>, BoxError> {
    let charged: ChargeHandle = request.extensions().get::<ChargeHandle>().expect("a charge").clone();
    let mut response = Response::new(Frames { left: 3, fails: *request.body() == Ending::BodyFails });
    match request.body() {
        Ending::Error => return Err("no response".into()),
        // Without the message of a panic.
        Ending::Panic => std::panic::resume_unwind(Box::new("a handler that panics")),
        Ending::TimeOut | Ending::Leaves(_) => std::future::pending().await,
        Ending::Upgrade => {
            let guard = charged.keep().expect("the response has not ended");
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            tokio::spawn(async move {
                yield_now().await;
                guard.settle(2);
            });
        }
        _ => {
            charged.settle(3);
        }
    }
    Ok(response)
}

/// Sends a request and ends it. Refusals and time-outs may take the place of any ending.
async fn send<T, B>(service: T, ending: Ending)
where
    T: Service<Request<Ending>, Response = Response<B>> + Send + 'static,
    T::Future: Send,
    T::Error: Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    let response = tokio::spawn(service.oneshot(Request::new(ending)));
    if let Ending::Leaves(polls) = ending {
        for _ in 0..polls {
            yield_now().await;
        }
        response.abort();
    }
    let Ok(Ok(response)) = response.await else { return };
    let mut body = response.into_body();
    match ending {
        Ending::Unread => {}
        Ending::LeavesDuringBody => drop(body.frame().await),
        _ => while let Some(Ok(_)) = body.frame().await {},
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_slot_leaks_in_memory() {
    let gate = super::charges::gate(RULES);
    let handled = run(&gate).await;
    assert!(handled > requests() / 4, "only {handled} requests got a slot");
    // The last upgraded connections may still close.
    while super::charges::used(&gate, "slots").await > 0 {
        yield_now().await;
    }
}
