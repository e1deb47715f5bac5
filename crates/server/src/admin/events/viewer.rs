//! One who looks on.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::sync::watch;

use super::{Seat, SentFrame, Then};
use crate::net::connections::{Order, Phase, Progress};

/// One who looks on.
pub(super) struct Viewer {
    _seat: Seat,
    /// What it is told first, until it was.
    hello: Option<Bytes>,
    latest: watch::Receiver<SentFrame>,
    progress: Arc<Progress>,
    then: Then,
}

impl Viewer {
    /// From now on its connection may last for as long as it likes. It is told `hello`, and then the newest frame.
    pub(super) fn new(
        seat: Seat,
        hello: Bytes,
        mut latest: watch::Receiver<SentFrame>,
        progress: Arc<Progress>,
    ) -> Self {
        latest.mark_changed();
        progress.begin_stream();
        Self { _seat: seat, hello: Some(hello), latest, progress, then: Then::More }
    }

    /// All that it is told.
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
        while self.then == Then::More {
            self.progress.until(Order::Stop, self.latest.changed()).await?.ok()?;
            let SentFrame { bytes, then } = self.latest.borrow_and_update().clone();
            self.then = then;
            // What waits for its client is not followed by more: frames are left out until it is gone.
            if then == Then::Nothing || self.progress.phase() != Phase::Writing {
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
