//! Flood: a stream whose client always has sent more and takes every answer at once.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::{JoinSet, yield_now};

use crate::net::connections::turns::{FREE_UNITS, TURN_UNITS, Turns};

/// The most that one client sends: without a bound a server that never yields would never end.
const MAX_BYTES: usize = 4 << 20;
/// Floods at a time.
const CLIENTS: usize = 50;
/// Turns of somebody else that are measured.
const TURNS: usize = 200;
/// Turns until everybody had its free share.
const FIRST_TURNS: usize = 3;

/// Stream of a flooding client.
pub(crate) struct Flood<F> {
    next: F,
    unread: Vec<u8>,
    sent_bytes: usize,
    answered_bytes: Arc<AtomicUsize>,
}

impl<F: FnMut() -> Vec<u8> + Unpin> AsyncRead for Flood<F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.sent_bytes >= MAX_BYTES {
            return Poll::Pending;
        }
        while self.unread.len() < buffer.remaining() {
            let more = (self.next)();
            self.unread.extend(more);
        }
        let some: Vec<u8> = self.unread.drain(..buffer.remaining()).collect();
        self.sent_bytes += some.len();
        buffer.put_slice(&some);
        Poll::Ready(Ok(()))
    }
}

impl<F: Unpin> AsyncWrite for Flood<F> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.answered_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Answers that floods get between two turns of somebody else on the same thread.
pub(crate) struct Between {
    answer_bytes: usize,
    first_bytes: usize,
    later_bytes: usize,
}

impl Between {
    /// Measures it, where every answer has so many bytes.
    pub(crate) async fn measure<F, T>(
        answer_bytes: usize,
        source: impl Fn() -> F,
        serve: impl Fn(Flood<F>) -> T,
    ) -> Self
    where
        T: Future<Output = ()> + Send + 'static,
    {
        let answered_bytes = Arc::new(AtomicUsize::new(0));
        let mut floods = JoinSet::new();
        for _ in 0..CLIENTS {
            let (next, answered_bytes) = (source(), Arc::clone(&answered_bytes));
            floods.spawn(serve(Flood { next, unread: Vec::new(), sent_bytes: 0, answered_bytes }));
        }
        let (mut before, mut gaps) = (0, Vec::new());
        for _ in 0..TURNS {
            yield_now().await;
            let now = answered_bytes.load(Ordering::Relaxed);
            gaps.push(now - before);
            before = now;
        }
        let (first, later) = gaps.split_at(FIRST_TURNS);
        let most = |gaps: &[usize]| gaps.iter().copied().max().unwrap_or_default();
        Self { answer_bytes, first_bytes: most(first), later_bytes: most(later) }
    }

    /// At first everybody has its free share; later only as many as there are workers have a turn
    /// at a time, and what is free after it.
    pub(crate) fn is_bounded(&self, units: u32) {
        let answers = |bytes| bytes / self.answer_bytes;
        let (first, later) = (answers(self.first_bytes), answers(self.later_bytes));
        let most = |units_each: u32| (units_each / units + 1) as usize;
        let most_later = Turns::new().at_once() * (most(TURN_UNITS) + most(FREE_UNITS));
        println!("{first} answers at first, and then up to {later}");
        assert!(first <= CLIENTS * most(FREE_UNITS), "{first} answers at first");
        assert!((1..=most_later).contains(&later), "{later} answers, and {most_later} is the most");
    }
}
