//! The end of a connection: so that its client can see the last reply.

use std::future::poll_fn;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use crate::connections::{Order, Phase, Progress, Rest, Sends};

/// Says that nothing more comes, and hears the client out. Where that fails, nobody is there.
pub(super) async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    sends: Sends,
    progress: &Progress,
) {
    progress.enter(Phase::Closing);
    let said = async {
        if stream.shutdown().await.is_ok() {
            let mut rest = Rest::new(sends);
            poll_fn(|context| rest.poll(stream, context)).await;
        }
    };
    progress.until(Order::End, said).await;
}
