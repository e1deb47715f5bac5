//! A stream that notes when its client takes nothing, and that is closed so that its last words arrive.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::Frames;
use crate::net::connections::{Phase, Progress, Rest, Sends, cost};

/// A stream that notes what its connection is doing.
pub(super) struct Noted<S> {
    stream: S,
    progress: Arc<Progress>,
    rest: Rest,
    frames: Frames,
}

impl<S> Noted<S> {
    pub(super) fn new(stream: S, progress: Arc<Progress>, frames: Frames) -> Self {
        Self { stream, progress, rest: Rest::new(Sends::Perhaps), frames }
    }

    /// While calls are being answered they have their own time; what is left is the client's.
    #[inline]
    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        if written.is_pending() && matches!(self.progress.phase(), Phase::Idle | Phase::Head) {
            self.progress.enter(Phase::Writing);
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // Of a block that is too large no more is read, and its connection ends.
        if self.progress.is_spent() || self.frames.are_refused() {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let bytes = buffer.filled().len() - before;
        self.progress.spend(cost::bytes(bytes, cost::FRAME_BYTES));
        self.frames.advance(&buffer.filled()[before..]);
        if bytes == 0 {
            self.rest.heard_the_end();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when everything was written, so what had to wait is now gone.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() && self.progress.phase() == Phase::Writing {
            self.progress.enter(Phase::Idle);
        }
        self.note(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.progress.phase() != Phase::Closing {
            self.progress.enter(Phase::Closing);
        }
        let Self { stream, rest, .. } = &mut *self;
        rest.poll_close(stream, context)
    }
}
