use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local, yield_now};

use super::{LingeringClose, Progress, Sends};

/// Client that sends without end; counts how often it is read.
struct Endless(Rc<Cell<usize>>);

impl AsyncRead for Endless {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.set(self.0.get() + 1);
        let bytes = buffer.remaining();
        buffer.put_slice(&vec![b' '; bytes]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Endless {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Sockets of others are polled after every turn, not after as many as the runtime runs in a row.
#[test]
fn others_are_served_between_turns() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, async {
        let (mut ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
        let other = spawn_local(async move { theirs.read_u8().await });
        yield_now().await;
        let (reads, progress) = (Rc::new(Cell::new(0)), Progress::new());
        let (mut stream, mut rest) = (Endless(Rc::clone(&reads)), LingeringClose::new(Sends::Perhaps));
        let _drain = spawn_local(std::future::poll_fn(move |context| {
            rest.poll_close(&progress, &mut stream, context)
        }));
        ours.write_u8(7).await.expect("a byte is taken");
        assert_eq!(other.await.expect("it does not fail").expect("a byte"), 7);
        assert!((1..=16).contains(&reads.get()), "{} reads", reads.get());
    });
}
