//! Lingering close: reads what a client still sends after the last response.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::yield_now;

/// Maximum number of bytes that are read.
const MAX_BYTES: usize = 4 << 20;
/// Bytes of one read.
const SCRATCH_BYTES: usize = 8 << 10;
/// Reads in a row before the task yields.
const READS_IN_A_ROW: usize = 2;

/// Lingering close: reads and discards what a client still sends, so that it sees its last response. A system that closes on unread bytes
/// resets the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LingeringClose {
    left_bytes: usize,
    sends: Sends,
    end: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ending {
    NotYet,
    /// Nothing more is written.
    Said,
    /// Nothing more comes.
    Heard,
}

/// Whether a client may still be sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sends {
    /// It does not know that it is over.
    Perhaps,
    /// It has nothing to say, or knows.
    Nothing,
}

impl LingeringClose {
    pub(crate) fn new(sends: Sends) -> Self {
        Self { left_bytes: MAX_BYTES, sends, end: Ending::NotYet }
    }

    /// From now on it is waited for.
    pub(crate) fn expect(&mut self) {
        self.sends = Sends::Perhaps;
    }

    /// The client has said that nothing more comes.
    pub(crate) fn peer_closed(&mut self) {
        self.end = Ending::Heard;
    }

    /// Says that nothing more comes, and hears the client out.
    pub(crate) fn poll_close<S: AsyncRead + AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        match self.end {
            Ending::Heard => return Pin::new(stream).poll_shutdown(context),
            Ending::Said => {}
            Ending::NotYet => {
                ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
                self.end = Ending::Said;
            }
        }
        self.poll(stream, context).map(Ok)
    }

    /// Ready when the client has closed its side too, or has said too much, or is not known to send anything.
    fn poll<S: AsyncRead + Unpin>(&mut self, stream: &mut S, context: &mut Context<'_>) -> Poll<()> {
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
                    self.expect();
                }
                Poll::Pending | Poll::Ready(_) => return Poll::Ready(()),
            }
        }
        // The runtime looks for what has come to others before it goes on with a task that yields, which it does not for one that
        // wakes itself.
        let _later = pin!(yield_now()).poll(context);
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
