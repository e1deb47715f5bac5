//! Viewer of the event stream: one connection.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use super::{LatestFrame, ViewerSlot};
use crate::net::connections::{Order, Phase, Progress};

/// Viewer of the event stream.
pub(super) struct Viewer {
    _slot: ViewerSlot,
    /// First event, until it is sent.
    hello: Option<Bytes>,
    latest: watch::Receiver<LatestFrame>,
    progress: Arc<Progress>,
    is_ended: bool,
}

impl Viewer {
    /// Viewer that gets `hello` and then the newest frame. From now on its connection has no time
    /// limit.
    pub(super) fn new(
        slot: ViewerSlot,
        hello: Bytes,
        mut latest: watch::Receiver<LatestFrame>,
        progress: Arc<Progress>,
    ) -> Self {
        latest.mark_changed();
        progress.begin_stream();
        Self { _slot: slot, hello: Some(hello), latest, progress, is_ended: false }
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
        while !self.is_ended {
            self.progress.until(Order::Stop, self.latest.changed()).await?.ok()?;
            let LatestFrame { bytes, is_last } = self.latest.borrow_and_update().clone();
            self.is_ended = is_last;
            // A client that has not read the last frame yet misses this one.
            if is_last || self.progress.phase() != Phase::Writing {
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
