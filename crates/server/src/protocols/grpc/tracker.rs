//! Tracker of a gRPC stream.

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite};

use super::frames::Frames;
use crate::net::connections::{LingeringClose, Phase, Progress, Sends, cost};
use crate::net::tracked_io::Track;

/// Tracker of a gRPC stream: follows its frames, and reports when its client does not read.
pub(super) struct GrpcTracker {
    progress: Arc<Progress>,
    close: LingeringClose,
    frames: Frames,
}

impl GrpcTracker {
    pub(super) fn new(progress: Arc<Progress>, frames: Frames) -> Self {
        Self { progress, close: LingeringClose::new(Sends::Perhaps), frames }
    }

    /// Reports a client that does not read, unless calls are in progress, which have their own time
    /// limit.
    #[inline]
    fn report_wait(&self, is_pending: bool) {
        if is_pending && matches!(self.progress.phase(), Phase::Idle | Phase::Head) {
            self.progress.enter(Phase::Writing);
        }
    }
}

impl Track for GrpcTracker {
    /// Nothing more is read after a header block that is too large: its connection ends.
    #[inline]
    fn is_blocked(&self) -> bool {
        self.progress.is_spent() || self.frames.is_too_large()
    }

    #[inline]
    fn after_read(&mut self, read: &Poll<io::Result<()>>, bytes: &[u8]) {
        if let Poll::Ready(Ok(())) = read {
            self.progress.spend(cost::bytes(bytes.len(), cost::FRAME_BYTES));
            self.frames.advance(bytes);
            if bytes.is_empty() {
                self.close.peer_closed();
            }
        }
    }

    #[inline]
    fn after_write(&mut self, written: &Poll<io::Result<usize>>) {
        self.report_wait(written.is_pending());
    }

    /// Called when everything was written, so nothing waits any more.
    #[inline]
    fn after_flush(&mut self, flushed: &Poll<io::Result<()>>) {
        if flushed.is_ready() && self.progress.phase() == Phase::Writing {
            self.progress.enter(Phase::Idle);
        }
        self.report_wait(flushed.is_pending());
    }

    fn poll_shutdown<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.close.poll_close(&self.progress, stream, context)
    }
}
