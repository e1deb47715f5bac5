//! The end of a connection: so that its client can see the last reply.

use std::future::poll_fn;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::net::connections::{LingeringClose, Order, Phase, Progress, Sends};

/// Says that nothing more comes, and hears the client out. Where that fails, nobody is there.
pub(super) async fn close<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    sends: Sends,
    progress: &Progress,
) {
    progress.enter(Phase::Closing);
    let mut rest = LingeringClose::new(sends);
    let said = poll_fn(|context| rest.poll_close(stream, context));
    let _whether_it_listened = progress.until(Order::End, said).await;
}
