//! Tracker of an HTTP stream.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::net::connections::{LingeringClose, Phase, Progress, Sends, cost};
use crate::net::tracked_io::{Track, TrackedIo};

/// Tracker of an HTTP stream: reports its phases to the progress of its connection.
pub(super) struct HttpTracker {
    progress: Arc<Progress>,
    close: LingeringClose,
}

impl HttpTracker {
    pub(super) fn new(progress: Arc<Progress>) -> Self {
        Self { progress, close: LingeringClose::new(Sends::Nothing) }
    }

    /// Reports a response that waits for its client; other waits are reported elsewhere.
    #[inline]
    fn report_wait(&self, is_pending: bool) {
        if is_pending && matches!(self.progress.phase(), Phase::Idle | Phase::Streaming) {
            self.progress.enter(Phase::Writing);
        }
    }
}

impl Track for HttpTracker {
    const WRITES_VECTORED: bool = false;

    #[inline]
    fn is_blocked(&self) -> bool {
        self.progress.is_spent()
    }

    #[inline]
    fn after_read(&mut self, read: &Poll<io::Result<()>>, bytes: &[u8]) {
        if read.is_ready() {
            self.progress.spend(cost::bytes(bytes.len(), cost::BYTES));
            if bytes.is_empty() {
                self.close.peer_closed();
            } else {
                self.progress.begin_head();
            }
        }
    }

    #[inline]
    fn after_write(&mut self, written: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = written {
            self.progress.spend(cost::bytes(*bytes, cost::BYTES));
        }
        self.report_wait(written.is_pending());
    }

    /// Called when everything was written, so no response waits any more.
    #[inline]
    fn after_flush(&mut self, flushed: &Poll<io::Result<()>>) {
        self.report_wait(flushed.is_pending());
        if flushed.is_ready() && self.progress.phase() == Phase::Writing {
            self.progress.rest();
        }
    }

    fn poll_shutdown<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.close.poll_close(&self.progress, stream, context)
    }
}

/// Writes a last response and closes the stream. A failure means that the client is gone.
pub(super) async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    mut io: TrackedIo<S, HttpTracker>,
    last: Option<Vec<u8>>,
) {
    io.tracker.progress.enter(Phase::Closing);
    if let Some(last) = last {
        io.tracker.progress.leave_unread();
        if io.stream.write_all(&last).await.is_err() {
            return;
        }
    }
    let _gone = poll_fn(|context| Pin::new(&mut io).poll_shutdown(context)).await;
}
