//! A stream that notes what its connection is doing.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::net::connections::{Phase, Progress, Rest, Sends, cost};

/// A stream that notes what its connection is doing.
pub(crate) struct Watched<S> {
    stream: S,
    progress: Arc<Progress>,
    rest: Rest,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Watched<S> {
    pub(crate) fn new(stream: S, progress: Arc<Progress>) -> Self {
        Self { stream, progress, rest: Rest::new(Sends::Nothing) }
    }

    /// Says a last word and ends. Where that fails, nobody is there to hear it.
    pub(crate) async fn close(mut self, word: Option<Vec<u8>>) {
        self.progress.enter(Phase::Closing);
        if let Some(word) = word {
            self.progress.leave_unread();
            if self.stream.write_all(&word).await.is_err() {
                return;
            }
        }
        let _gone = poll_fn(|context| Pin::new(&mut self).poll_shutdown(context)).await;
    }
}

impl<S> Watched<S> {
    /// An answer that waits for its client is seen here only; that others wait is said elsewhere.
    #[inline]
    fn note_waiting(&self, is_pending: bool) {
        if is_pending && matches!(self.progress.phase(), Phase::Idle | Phase::Streaming) {
            self.progress.enter(Phase::Writing);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.progress.is_spent() {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            let bytes = buffer.filled().len() - before;
            self.progress.spend(cost::bytes(bytes, cost::BYTES));
            if bytes == 0 {
                self.rest.heard_the_end();
            } else {
                self.progress.begin_head();
            }
        }
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(bytes)) = written {
            self.progress.spend(cost::bytes(bytes, cost::BYTES));
        }
        self.note_waiting(written.is_pending());
        written
    }

    /// Called when everything was written, so an answer that had to wait is now gone.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.note_waiting(flushed.is_pending());
        if flushed.is_ready() && self.progress.phase() == Phase::Writing {
            self.progress.rest();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.progress.phase() != Phase::Closing {
            self.progress.enter(Phase::Closing);
        }
        let Self { stream, progress, rest } = &mut *self;
        if progress.is_unread() {
            rest.expect();
        }
        rest.poll_close(stream, context)
    }
}
