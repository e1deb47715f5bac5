//! One who looks on.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use super::{SentFrame, StreamState, ViewerSlot};
use crate::net::connections::{Order, Phase, Progress};

/// Viewer of the event stream.
pub(super) struct Viewer {
    _seat: ViewerSlot,
    /// First event, until it is sent.
    hello: Option<Bytes>,
    latest: watch::Receiver<SentFrame>,
    progress: Arc<Progress>,
    then: StreamState,
}

impl Viewer {
    /// Viewer that gets `hello` and then the newest frame. From now on its connection has no time limit.
    pub(super) fn new(
        seat: ViewerSlot,
        hello: Bytes,
        mut latest: watch::Receiver<SentFrame>,
        progress: Arc<Progress>,
    ) -> Self {
        latest.mark_changed();
        progress.begin_stream();
        Self { _seat: seat, hello: Some(hello), latest, progress, then: StreamState::More }
    }

    /// Stream of its events.
    pub(super) fn into_stream(self) -> impl Stream<Item = Bytes> {
        stream::unfold(self, async |mut viewer| {
            let bytes = viewer.next().await?;
            Some((bytes, viewer))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(hello) = self.hello.take() {
            return Some(hello);
        }
        while self.then == StreamState::More {
            self.progress.until(Order::Stop, self.latest.changed()).await?.ok()?;
            let SentFrame { bytes, then } = self.latest.borrow_and_update().clone();
            self.then = then;
            // What waits for its client is not followed by more: frames are left out until it is gone.
            if then == StreamState::Nothing || self.progress.phase() != Phase::Writing {
                return Some(bytes);
            }
        }
        None
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.progress.end_stream();
    }
}
