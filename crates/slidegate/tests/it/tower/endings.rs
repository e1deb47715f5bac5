//! Requests that end in every way, many at a time: no slot in flight is lost, no permit stays open,
//! and the units of every charge are exact.
//!
//! `SLIDEGATE_TOWER_REQUESTS` is their number, over memory and over Redis.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use slidegate::telemetry::{Telemetry, TelemetrySettings};
use slidegate::tower::{ChargeHandle, RateLimitLayer};
use slidegate::{Gate, Memory, Settlements, SyncStore};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{sleep, timeout};
use tower::timeout::Timeout;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

use crate::gates::policy;

/// Requests at the same time. More than there are slots, so that some are refused or wait.
const CLIENTS: u64 = 96;
const RULES: &str = "  - { name: slots, limits: [{ in_flight: 64, hold: 1h }] }
  - { name: tokens, refundable: true, limits: [1000000000/day] }
";
/// Longest wait of a request for a slot.
const WAIT: Duration = Duration::from_millis(50);
/// Time within which the charges of the last requests are settled, on a busy machine too.
const SETTLING: Duration = Duration::from_secs(60);

/// Units of a request that its handler settles, and of one whose connection is upgraded. The
/// estimate is one unit.
const SETTLED_UNITS: u64 = 3;
const UPGRADED_UNITS: u64 = 2;

/// Number of requests of a run.
fn requests() -> u64 {
    std::env::var("SLIDEGATE_TOWER_REQUESTS").map_or(5_000, |count| count.parse().expect("a number"))
}

/// End that is intended for a request.
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
    /// The client leaves so many polls after the decision began: while the store decides, or while
    /// the request waits.
    LeavesDuringDecision(u64),
    /// The client leaves while the handler hangs.
    LeavesDuringHandler,
    /// The connection is upgraded, and outlasts its response.
    Upgrade,
}

impl Ending {
    const KINDS: u64 = 10;

    fn of(request: u64) -> Self {
        match request % Self::KINDS {
            0 => Self::Read,
            1 => Self::Unread,
            2 => Self::LeavesDuringBody,
            3 => Self::BodyFails,
            4 => Self::Error,
            5 => Self::Panic,
            6 => Self::TimeOut,
            7 => Self::LeavesDuringDecision(request / Self::KINDS % 8),
            8 => Self::LeavesDuringHandler,
            _ => Self::Upgrade,
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// The client read the body to its end.
    Read,
    /// The client dropped the body unread.
    Unread,
    /// The client left after a part of the body.
    LeftDuringBody,
    /// The client read an error in the body.
    BodyFailed,
    /// The service returned an error.
    Error,
    /// The handler panicked.
    Panic,
    /// A time-out ended a handler.
    TimedOut,
    /// The client left during the decision, before the handler got the request.
    LeftDuringDecision,
    /// The client left a handler.
    LeftDuringHandler,
    /// The connection was upgraded.
    Upgraded,
    /// A limit denied the request.
    Refused,
    /// A time-out ended the decision, which memory never makes wait.
    TimedOutDuringDecision,
}

impl Outcome {
    const ALL: [Self; 12] = [
        Self::Read,
        Self::Unread,
        Self::LeftDuringBody,
        Self::BodyFailed,
        Self::Error,
        Self::Panic,
        Self::TimedOut,
        Self::LeftDuringDecision,
        Self::LeftDuringHandler,
        Self::Upgraded,
        Self::Refused,
        Self::TimedOutDuringDecision,
    ];
}

/// Progress of a request, an extension that the layer and the handler set.
#[derive(Clone, Default)]
struct Progress(Arc<AtomicU8>);

impl Progress {
    const DECIDING: u8 = 1;
    const HANDLING: u8 = 2;

    fn set(&self, stage: u8) {
        self.0.store(stage, Ordering::SeqCst);
    }

    fn has_reached(&self, stage: u8) -> bool {
        self.0.load(Ordering::SeqCst) >= stage
    }
}

/// Counts of a run.
#[derive(Default)]
struct RunCounts {
    outcomes: [AtomicU64; Outcome::ALL.len()],
    /// Requests that handlers got.
    handled: AtomicU64,
    /// Requests that were settled with [`SETTLED_UNITS`].
    settled: AtomicU64,
    /// Requests that were settled with [`UPGRADED_UNITS`].
    upgraded: AtomicU64,
}

impl RunCounts {
    fn count(&self, outcome: Outcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
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

/// Runs requests with all endings over a store, half of them with a wait for their slot, the others
/// with a time-out, which has to leave the store enough time. Every ending occurs, and afterwards no
/// slot is taken, every permit is spent, and the units are exact.
pub(crate) async fn prove_no_leaks<S: SyncStore + 'static>(store: S, time_out: Duration) {
    let telemetry = Arc::new(Telemetry::new(TelemetrySettings::default()));
    let gate = Arc::new(Gate::new(policy(RULES), store).observe(Arc::clone(&telemetry)));
    let counts = run(&gate, time_out).await;

    // The last charges may still be settled, and the last upgraded connections be open.
    let are_settled = async {
        while gate.settlements().settled < telemetry.requests().allowed {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let in_time = timeout(SETTLING, are_settled).await;
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let outcomes = Outcome::ALL.map(|outcome| (outcome, of(&counts.outcomes[outcome as usize])));
    let admitted = telemetry.requests().allowed;
    println!("{admitted} of {} requests admitted: {outcomes:?}", requests());
    assert!(in_time.is_ok(), "{} of {admitted} charges are settled", gate.settlements().settled);

    for (outcome, count) in outcomes {
        assert!(count > 0 || outcome == Outcome::TimedOutDuringDecision, "no request ended as {outcome:?}");
    }
    assert_eq!(outcomes.iter().map(|(_, count)| count).sum::<u64>(), requests());
    let handled = of(&counts.handled);
    assert!(handled > requests() / 4, "only {handled} requests got a slot");
    assert!((handled..=requests()).contains(&admitted), "{handled} handled, {admitted} admitted");

    let (settled, upgraded) = (of(&counts.settled), of(&counts.upgraded));
    let debt_units = (SETTLED_UNITS - 1) * settled + (UPGRADED_UNITS - 1) * upgraded;
    let mut expected = Settlements::default();
    (expected.settled, expected.debt_units) = (admitted, debt_units);
    assert_eq!(gate.settlements(), expected, "every permit is spent, once");
    let used = async |rule| {
        let used = gate.used(rule, &slidegate::Request::new()).await;
        used.unwrap_or_else(|error| panic!("{error}")).expect("a subject")[0]
    };
    assert_eq!(used("slots").await, 0);
    assert_eq!(used("tokens").await, admitted + debt_units);
}

async fn run<S: SyncStore + 'static>(gate: &Arc<Gate<S>>, time_out: Duration) -> Arc<RunCounts> {
    let counts = Arc::new(RunCounts::default());
    let next = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (gate, counts, next) = (Arc::clone(gate), Arc::clone(&counts), Arc::clone(&next));
        clients.spawn(async move {
            let run = Arc::clone(&counts);
            let handler = service_fn(move |request: Request<Ending>| handle(request, Arc::clone(&run)));
            let layer = || {
                RateLimitLayer::new(gate.clone()).cost_with(|parts| {
                    parts.extensions.get::<Progress>().expect("a progress").set(Progress::DECIDING);
                    1
                })
            };
            let at_once = Timeout::new(layer().layer(handler.clone()), time_out);
            let patient = layer().wait(WAIT).layer(handler);
            loop {
                let request = next.fetch_add(1, Ordering::Relaxed);
                if request >= requests() {
                    return;
                }
                let ending = Ending::of(request);
                // A handler that hangs needs the time-out, or a client that leaves.
                let outcome = if (request / Ending::KINDS).is_multiple_of(2) || ending == Ending::TimeOut {
                    send(at_once.clone(), ending).await
                } else {
                    send(patient.clone(), ending).await
                };
                counts.count(outcome);
            }
        });
    }
    while let Some(client) = clients.join_next().await {
        client.expect("no client panics");
    }
    counts
}

async fn handle(request: Request<Ending>, counts: Arc<RunCounts>) -> Result<Response<Frames>, BoxError> {
    request.extensions().get::<Progress>().expect("a progress").set(Progress::HANDLING);
    counts.handled.fetch_add(1, Ordering::Relaxed);
    let charged: ChargeHandle = request.extensions().get::<ChargeHandle>().expect("a charge").clone();
    let mut response = Response::new(Frames { left: 3, fails: *request.body() == Ending::BodyFails });
    match request.body() {
        Ending::Error => return Err("no response".into()),
        // Without the message of a panic.
        Ending::Panic => std::panic::resume_unwind(Box::new("a handler that panics")),
        Ending::TimeOut | Ending::LeavesDuringDecision(_) | Ending::LeavesDuringHandler => {
            std::future::pending::<()>().await;
        }
        Ending::Upgrade => {
            let guard = charged.keep().expect("the response has not ended");
            *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
            counts.upgraded.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                yield_now().await;
                guard.settle(UPGRADED_UNITS);
            });
        }
        Ending::Read | Ending::Unread | Ending::LeavesDuringBody | Ending::BodyFails => {
            assert!(charged.settle(SETTLED_UNITS), "the response has not ended");
            counts.settled.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(response)
}

/// Sends a request, and ends it as intended, unless it is refused or a time-out ends it before.
async fn send<T, B>(service: T, ending: Ending) -> Outcome
where
    T: Service<Request<Ending>, Response = Response<B>> + Send + 'static,
    T::Future: Send,
    T::Error: Into<BoxError> + Send + 'static,
    B: Body<Data = Bytes> + Send + Unpin + 'static,
{
    let progress = Progress::default();
    let mut request = Request::new(ending);
    request.extensions_mut().insert(progress.clone());
    let response = tokio::spawn(service.oneshot(request));
    if let Ending::LeavesDuringDecision(polls) = ending {
        leave(&response, &progress, Progress::DECIDING, polls).await;
    } else if ending == Ending::LeavesDuringHandler {
        leave(&response, &progress, Progress::HANDLING, 0).await;
    }
    let is_handled = || progress.has_reached(Progress::HANDLING);
    let response = match response.await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => {
            let is_elapsed = error.into().is::<Elapsed>();
            return match (is_elapsed, is_handled()) {
                (true, true) => Outcome::TimedOut,
                (true, false) => Outcome::TimedOutDuringDecision,
                (false, _) => Outcome::Error,
            };
        }
        Err(error) if error.is_panic() => return Outcome::Panic,
        Err(_) if is_handled() => return Outcome::LeftDuringHandler,
        Err(_) => return Outcome::LeftDuringDecision,
    };
    let (status, mut body) = (response.status(), response.into_body());
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Outcome::Refused;
    }
    match ending {
        Ending::Unread => return Outcome::Unread,
        Ending::LeavesDuringBody => {
            let frame = body.frame().await.expect("a frame");
            assert!(frame.is_ok_and(|frame| frame.is_data()));
            return Outcome::LeftDuringBody;
        }
        _ => {}
    }
    while let Some(frame) = body.frame().await {
        if frame.is_err() {
            return Outcome::BodyFailed;
        }
    }
    if status == StatusCode::SWITCHING_PROTOCOLS { Outcome::Upgraded } else { Outcome::Read }
}

/// Cancels a request so many polls after it has reached a stage.
async fn leave<T>(request: &tokio::task::JoinHandle<T>, progress: &Progress, stage: u8, polls: u64) {
    while !progress.has_reached(stage) && !request.is_finished() {
        yield_now().await;
    }
    for _ in 0..polls {
        yield_now().await;
    }
    request.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_slot_leaks_in_memory() {
    prove_no_leaks(Memory::default(), Duration::from_millis(10)).await;
}
