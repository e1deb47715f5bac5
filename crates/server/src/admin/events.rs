//! `GET /v1/events`: what there is to see, once a second, for everybody who looks on.
//!
//! A frame is put together once for all viewers, and not at all while there are none. Whoever does not take what was sent misses
//! frames: each has all that is known, so nothing is lost with one.

mod frame;
mod history;
mod quantiles;
mod sample;
mod top;
mod viewer;

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use parking_lot::Mutex;
use slidegate::Clock;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::protocols::http::handler::HttpConnection;
use crate::protocols::problem::{Problem, Reply};
use crate::protocols::reply_body::ReplyBody;
use crate::runtime::Runtime;
use history::History;
use sample::Sample;
pub(crate) use top::top;
use viewer::Viewer;

/// Interval of frames.
const EVERY: Duration = Duration::from_secs(1);
/// Maximum number of viewers.
const MAX_VIEWERS: usize = 100;

/// Event stream of the server.
pub(crate) struct Events {
    viewers: Arc<AtomicUsize>,
    latest: watch::Sender<SentFrame>,
    history: Mutex<History>,
    began: Instant,
}

/// Frame as it is sent.
#[derive(Clone, Default)]
struct SentFrame {
    bytes: Bytes,
    then: StreamState,
}

/// Whether a frame is the last.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum StreamState {
    #[default]
    More,
    Nothing,
}

impl Events {
    /// An event stream without viewers, which it counts in `viewers`.
    pub(crate) fn new(viewers: Arc<AtomicUsize>) -> Self {
        Self { viewers, latest: watch::Sender::default(), history: Mutex::default(), began: Instant::now() }
    }

    /// Number of viewers.
    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// Slot for another viewer, and its first event; `None` if there are too many.
    fn join<C: Clock>(self: &Arc<Self>, runtime: &Runtime<C>) -> Option<(ViewerSlot, Bytes)> {
        // Held until there is a frame, so that nobody gets one of long ago.
        let history = self.history.lock();
        let more = |viewers| (viewers < MAX_VIEWERS).then_some(viewers + 1);
        let before = self.viewers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        let seat = ViewerSlot(Arc::clone(self));
        if before == 0 {
            self.send(runtime, &history, Sample::now(runtime).as_ref(), StreamState::More);
        }
        Some((seat, frame::hello(runtime, &history)))
    }

    /// A second has passed.
    fn tick<C: Clock>(&self, runtime: &Runtime<C>) {
        let sample = Sample::now(runtime);
        let mut history = self.history.lock();
        if self.viewers() > 0 {
            self.send(runtime, &history, sample.as_ref(), StreamState::More);
        }
        if let Some(sample) = sample {
            history.note(sample);
        }
    }

    fn send<C: Clock>(
        &self,
        runtime: &Runtime<C>,
        history: &History,
        sample: Option<&Sample>,
        then: StreamState,
    ) {
        let bytes = frame::frame(runtime, history, sample, self.began.elapsed());
        self.latest.send_replace(SentFrame { bytes, then });
    }
}

/// Slot of a viewer, until it is dropped.
struct ViewerSlot(Arc<Events>);

impl Drop for ViewerSlot {
    fn drop(&mut self) {
        self.0.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Samples every second and publishes a frame. A shutdown is published at once. Never returns.
pub(crate) async fn publish<C: Clock>(events: Arc<Events>, runtime: Arc<Runtime<C>>) {
    let mut seconds = interval(EVERY);
    // After a stall one frame is as good as ten.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = runtime.decider().shutdown_begun() => break,
            _ = seconds.tick() => events.tick(&runtime),
        }
    }
    events.send(&runtime, &events.history.lock(), Sample::now(&runtime).as_ref(), StreamState::Nothing);
    pending::<()>().await;
}

/// Response with an event stream, until the client closes it or the server shuts down.
pub(crate) fn reply<C: Clock>(
    events: &Arc<Events>,
    runtime: &Runtime<C>,
    connection: &HttpConnection<C>,
) -> Result<Reply, Problem> {
    // Before it is looked at whether the service ends, so that its last frame is not missed.
    let latest = events.latest.subscribe();
    if !runtime.is_ready() {
        return Err(Problem::overloaded("the server is shutting down"));
    }
    let Some((seat, hello)) = events.join(runtime) else {
        let detail =
            format!("the maximum of {MAX_VIEWERS} event streams is reached; close a console, or retry later");
        return Err(Problem::overloaded(detail));
    };
    let viewer = Viewer::new(seat, hello, latest, Arc::clone(&connection.progress));
    let mut reply = Reply::new(ReplyBody::stream(viewer.into_stream()));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        // nginx would otherwise keep what it gets until there is more.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(reply)
}
