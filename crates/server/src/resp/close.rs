//! The end of a connection: so that its client can see the last reply.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

use crate::connections::{Order, Phase, Progress};

/// How much of what a client still sends is read and thrown away: a system that closes on unread bytes tells the other side to forget
/// what was said.
const MAX_REST_BYTES: usize = 4 << 20;
/// How much of it at a time.
const PLACE_BYTES: usize = 8 << 10;

/// Whether a client may still be sending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// It does not know that it is over.
    Comes,
    /// It has nothing to say, or knows.
    IsRead,
}

/// Says that nothing more comes, and hears the client out. Where that fails, nobody is there.
pub(super) async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    rest: Rest,
    progress: &Progress,
) {
    progress.enter(Phase::Closing);
    let said = async {
        if stream.shutdown().await.is_ok() {
            let (mut rest, mut left) = (rest, MAX_REST_BYTES);
            poll_fn(|context| poll_rest(stream, &mut rest, &mut left, context)).await;
        }
    };
    progress.until(Order::End, said).await;
}

fn poll_rest<S: AsyncRead + Unpin>(
    stream: &mut S,
    rest: &mut Rest,
    left: &mut usize,
    context: &mut Context<'_>,
) -> Poll<()> {
    let mut place = [0; PLACE_BYTES];
    while *left > 0 {
        let mut buffer = ReadBuf::new(&mut place);
        match Pin::new(&mut *stream).poll_read(context, &mut buffer) {
            Poll::Pending if *rest == Rest::Comes => return Poll::Pending,
            Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                *left = left.saturating_sub(buffer.filled().len());
                *rest = Rest::Comes;
            }
            Poll::Pending | Poll::Ready(_) => break,
        }
    }
    Poll::Ready(())
}
