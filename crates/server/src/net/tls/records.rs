//! The records that TLS comes in. What is in one can only be read when all of it is here, and its sender may be asking something.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::net::connections::Progress;

/// A record begins with its kind, a version, and how many bytes follow.
const HEAD_BYTES: usize = 5;

/// A stream under TLS that notes when a part of a record has come.
pub(crate) struct Records<S> {
    stream: S,
    place: Place,
    progress: Option<Arc<Progress>>,
}

impl<S> Records<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, place: Place::default(), progress: None }
    }

    /// From now on, which is after the handshake, it is noted there.
    pub(crate) fn note_to(&mut self, progress: Arc<Progress>) {
        if self.place.is_amid() {
            progress.begin_record();
        }
        self.progress = Some(progress);
    }
}

/// Where in a record a stream is.
#[derive(Default)]
struct Place {
    head: [u8; HEAD_BYTES],
    head_bytes: usize,
    left_bytes: usize,
}

impl Place {
    fn advance(&mut self, mut bytes: &[u8]) {
        while let [first, rest @ ..] = bytes {
            if self.left_bytes > 0 {
                let some = self.left_bytes.min(bytes.len());
                self.left_bytes -= some;
                bytes = &bytes[some..];
                continue;
            }
            self.head[self.head_bytes] = *first;
            self.head_bytes += 1;
            bytes = rest;
            if self.head_bytes == HEAD_BYTES {
                let [.., high, low] = self.head;
                (self.head_bytes, self.left_bytes) = (0, u16::from_be_bytes([high, low]).into());
            }
        }
    }

    fn is_amid(&self) -> bool {
        self.head_bytes > 0 || self.left_bytes > 0
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Records<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.place.advance(&buffer.filled()[before..]);
        match &self.progress {
            Some(progress) if self.place.is_amid() => progress.begin_record(),
            // More is asked for although all that came was read, so no part of a request was in it: TLS had something to say itself.
            Some(progress) if read.is_pending() => progress.end_record(),
            _ => {}
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Records<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// However the bytes are cut: it is amid a record everywhere but where one ends.
    #[test]
    fn it_is_amid_a_record_until_its_end() {
        let (mut bytes, mut ends) = (Vec::new(), HashSet::from([0]));
        for length in [0_u16, 1, 5, 300, 0, 2, 16_640, 7] {
            bytes.extend([23, 3, 3]);
            bytes.extend(length.to_be_bytes());
            bytes.extend(vec![0xff; length.into()]);
            ends.insert(bytes.len());
        }
        for at_once in [1, 2, 3, 5, 7, 64, 4_096, bytes.len()] {
            let (mut place, mut read_bytes) = (Place::default(), 0);
            for some in bytes.chunks(at_once) {
                place.advance(some);
                read_bytes += some.len();
                assert_eq!(
                    place.is_amid(),
                    !ends.contains(&read_bytes),
                    "{at_once} at once, {read_bytes} read"
                );
            }
        }
    }
}
