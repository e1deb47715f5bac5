//! `GET /v1/events`: the state of the server, once a second, for every viewer.
//!
//! A frame is built once for all viewers, and only if there are any. A client that reads slowly
//! misses frames; each is complete, so it loses nothing.

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
use history::SampleHistory;
use sample::Sample;
pub(crate) use top::top;
use viewer::Viewer;

/// Interval of frames.
const FRAME_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of viewers.
const MAX_VIEWERS: usize = 100;

/// Event stream of the server.
pub(crate) struct Events {
    viewers: Arc<AtomicUsize>,
    latest: watch::Sender<LatestFrame>,
    history: Mutex<SampleHistory>,
    started: Instant,
}

/// Newest frame.
#[derive(Clone, Default)]
struct LatestFrame {
    bytes: Bytes,
    /// Whether the stream ends with it.
    is_last: bool,
}

impl Events {
    /// Event stream that counts its viewers in `viewers`.
    pub(crate) fn new(viewers: Arc<AtomicUsize>) -> Self {
        Self { viewers, latest: watch::Sender::default(), history: Mutex::default(), started: Instant::now() }
    }

    /// Number of viewers.
    pub(crate) fn viewers(&self) -> usize {
        self.viewers.load(Ordering::Relaxed)
    }

    /// Slot for another viewer, and its first event; `None` if there are too many.
    fn join<C: Clock>(self: &Arc<Self>, runtime: &Runtime<C>) -> Option<(ViewerSlot, Bytes)> {
        // Locked until there is a new frame, so that the first viewer gets no old one.
        let history = self.history.lock();
        let more = |viewers| (viewers < MAX_VIEWERS).then_some(viewers + 1);
        let before = self.viewers.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        let slot = ViewerSlot(Arc::clone(self));
        if before == 0 {
            self.publish(frame::frame(runtime, &history, Sample::now(runtime).as_ref(), self.uptime()));
        }
        Some((slot, frame::hello(runtime, &history)))
    }

    /// Publishes a frame, if there are viewers, and appends a sample to the history.
    fn tick<C: Clock>(&self, runtime: &Runtime<C>) {
        let sample = Sample::now(runtime);
        let mut history = self.history.lock();
        if self.viewers() > 0 {
            self.publish(frame::frame(runtime, &history, sample.as_ref(), self.uptime()));
        }
        if let Some(sample) = sample {
            history.push(sample);
        }
    }

    fn publish(&self, bytes: Bytes) {
        self.latest.send_replace(LatestFrame { bytes, is_last: false });
    }

    fn end(&self, bytes: Bytes) {
        self.latest.send_replace(LatestFrame { bytes, is_last: true });
    }

    fn uptime(&self) -> Duration {
        self.started.elapsed()
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
    let mut seconds = interval(FRAME_INTERVAL);
    // After a stall one frame is enough.
    seconds.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            () = runtime.decider().shutdown_begun() => break,
            _ = seconds.tick() => events.tick(&runtime),
        }
    }
    let sample = Sample::now(&runtime);
    events.end(frame::frame(&runtime, &events.history.lock(), sample.as_ref(), events.uptime()));
    pending::<()>().await;
}

/// Response with an event stream, until the client closes it or the server shuts down.
pub(crate) fn reply<C: Clock>(
    events: &Arc<Events>,
    runtime: &Runtime<C>,
    connection: &HttpConnection<C>,
) -> Result<Reply, Problem> {
    // Before the check of readiness, so that the last frame is not missed.
    let latest = events.latest.subscribe();
    if !runtime.is_ready() {
        return Err(Problem::overloaded("the server is shutting down"));
    }
    let Some((slot, hello)) = events.join(runtime) else {
        let detail =
            format!("the maximum of {MAX_VIEWERS} event streams is reached; close a console, or retry later");
        return Err(Problem::overloaded(detail));
    };
    let viewer = Viewer::new(slot, hello, latest, Arc::clone(&connection.progress));
    let mut reply = Reply::new(ReplyBody::stream(viewer.into_stream()));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        // nginx would buffer the stream otherwise.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(reply)
}
