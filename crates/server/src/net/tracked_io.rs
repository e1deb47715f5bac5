//! Tracked stream: reports reads and writes to the tracker of its connection.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Tracker of the reads and writes of a stream.
pub(crate) trait Track: Unpin {
    /// Whether several slices may be written in one call.
    const WRITES_VECTORED: bool = true;

    /// Whether reading is suspended. The connection is woken when it continues.
    #[inline]
    fn is_blocked(&self) -> bool {
        false
    }

    /// Records a read and its bytes.
    fn after_read(&mut self, read: &Poll<io::Result<()>>, bytes: &[u8]);

    #[inline]
    fn after_write(&mut self, _written: &Poll<io::Result<usize>>) {}

    #[inline]
    fn after_flush(&mut self, _flushed: &Poll<io::Result<()>>) {}

    fn poll_shutdown<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(stream).poll_shutdown(context)
    }
}

/// Stream with a tracker.
pub(crate) struct TrackedIo<S, T> {
    pub(crate) stream: S,
    pub(crate) tracker: T,
}

impl<S, T> TrackedIo<S, T> {
    pub(crate) fn new(stream: S, tracker: T) -> Self {
        Self { stream, tracker }
    }
}

impl<S: AsyncRead + Unpin, T: Track> AsyncRead for TrackedIo<S, T> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.tracker.is_blocked() {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.tracker.after_read(&read, &buffer.filled()[before..]);
        read
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin, T: Track> AsyncWrite for TrackedIo<S, T> {
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.tracker.after_write(&written);
        written
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.tracker.after_write(&written);
        written
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        T::WRITES_VECTORED && self.stream.is_write_vectored()
    }

    #[inline]
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.tracker.after_flush(&flushed);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, tracker } = &mut *self;
        tracker.poll_shutdown(stream, context)
    }
}
