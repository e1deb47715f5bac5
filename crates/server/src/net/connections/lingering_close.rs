//! Lingering close: reads what a client still sends after the last response.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

use super::{Phase, Progress};

/// Maximum number of bytes that are read.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of one read.
const SCRATCH_BYTES: usize = 8 << 10;
/// Reads in a row before the task yields.
const READS_IN_A_ROW: usize = 2;

/// Lingering close: reads and discards what a client still sends, so that it gets its last
/// response. A system that closes a socket with unread bytes resets the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LingeringClose {
    left_bytes: usize,
    sends: Sends,
    shutdown: Shutdown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shutdown {
    None,
    /// Nothing more is written.
    Sent,
    /// Nothing more comes.
    ByPeer,
}

/// Bytes that a client may still be sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sends {
    /// Perhaps some: the client has not noticed the end.
    Perhaps,
    /// None.
    Nothing,
}

impl LingeringClose {
    pub(crate) fn new(sends: Sends) -> Self {
        Self { left_bytes: MAX_BYTES, sends, shutdown: Shutdown::None }
    }

    /// Records that the client has closed its side.
    pub(crate) fn peer_closed(&mut self) {
        self.shutdown = Shutdown::ByPeer;
    }

    /// Shuts down the stream, and then reads until the client has closed its side.
    pub(crate) fn poll_close<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        progress: &Progress,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if progress.phase() != Phase::Closing {
            progress.enter(Phase::Closing);
        }
        if progress.is_unread() {
            self.sends = Sends::Perhaps;
        }
        match self.shutdown {
            Shutdown::ByPeer => return Pin::new(stream).poll_shutdown(context),
            Shutdown::Sent => {}
            Shutdown::None => {
                ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
                self.shutdown = Shutdown::Sent;
            }
        }
        self.poll_drain(stream, context).map(Ok)
    }

    /// Ready when the client has closed its side too, has sent too much, or has nothing to send.
    fn poll_drain<S: AsyncRead + Unpin>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; SCRATCH_BYTES];
        for _ in 0..READS_IN_A_ROW {
            if self.left_bytes == 0 {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::new(&mut scratch);
            match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
                Poll::Pending if self.sends == Sends::Perhaps => return Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.left_bytes = self.left_bytes.saturating_sub(buffer.filled().len());
                    self.sends = Sends::Perhaps;
                }
                Poll::Pending | Poll::Ready(_) => return Poll::Ready(()),
            }
        }
        // The runtime polls the sockets of others before it continues a task that yields; for a
        // task that wakes itself it does not.
        let _later = pin!(yield_now()).poll(context);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
