//! Buffers of a connection: input without a reply yet, and replies that are not written yet. Both
//! are bounded.

use std::io;
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::parser::Parser;
use super::reply::ReplyWriter;
use super::session::Session;

/// Size of a read. A read that does not fill it has read everything, which spares another one.
const READ_BYTES: usize = 16 << 10;
/// Size of the replies at which they are written before further commands are read.
pub(super) const FULL_BYTES: usize = 64 << 10;
/// Maximum capacity of a buffer of an idle connection.
const IDLE_BYTES: usize = 4 << 10;

/// Both directions of a connection.
pub(super) struct ConnectionBuffers {
    pub(super) session: Session,
    pub(super) parser: Parser,
    /// Input without a reply: the beginning of a command, except while the last read is being
    /// answered.
    pub(super) input: Vec<u8>,
    /// Replies that are not written.
    pub(super) out: Vec<u8>,
    written: usize,
}

impl ConnectionBuffers {
    pub(super) fn new(peer: IpAddr) -> Self {
        Self {
            session: Session::new(peer),
            parser: Parser::default(),
            input: Vec::new(),
            out: Vec::new(),
            written: 0,
        }
    }

    /// Whether a command has begun and is incomplete.
    #[inline]
    pub(super) fn is_amid_command(&self) -> bool {
        !self.input.is_empty()
    }

    pub(super) fn replies(&mut self) -> ReplyWriter<'_> {
        ReplyWriter { out: &mut self.out, protocol: self.session.protocol }
    }

    /// Reads; returns the number of bytes, and 0 at the end.
    #[inline]
    pub(super) fn poll_read<S: AsyncRead + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        // First into a buffer on the stack: silent connections have none of their own.
        let mut scratch = [const { MaybeUninit::uninit() }; READ_BYTES];
        let mut buffer = ReadBuf::uninit(&mut scratch);
        match Pin::new(stream).poll_read(context, &mut buffer) {
            Poll::Pending => {
                self.shrink();
                Poll::Pending
            }
            Poll::Ready(read) => {
                read?;
                self.input.extend_from_slice(buffer.filled());
                Poll::Ready(Ok(buffer.filled().len()))
            }
        }
    }

    /// Writes the replies.
    #[inline]
    pub(super) fn poll_write<S: AsyncWrite + Unpin>(
        &mut self,
        stream: &mut S,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while self.written < self.out.len() {
            let some = &self.out[self.written..];
            match ready!(Pin::new(&mut *stream).poll_write(context, some))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => self.written += bytes,
            }
        }
        ready!(Pin::new(stream).poll_flush(context))?;
        self.out.clear();
        self.written = 0;
        Poll::Ready(Ok(()))
    }

    /// Frees the memory of a large pipeline, once everything is answered.
    fn shrink(&mut self) {
        for bytes in [&mut self.input, &mut self.out] {
            if bytes.is_empty() && bytes.capacity() > IDLE_BYTES {
                *bytes = Vec::new();
            }
        }
    }
}
