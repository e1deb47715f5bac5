//! RESP connection: commands are answered in order, those that came together concurrently.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::yield_now;

use super::buffers::ConnectionBuffers;
use super::pipeline::NextStep;
use crate::net::connections::{LingeringClose, Order, Phase, Progress, Sends, cost};
use crate::net::serve::Caller;
use crate::protocols::overload;
use crate::runtime::decider::Decider;

/// Number of polls of an idle connection before it ends, as with HTTP.
const LAST_POLLS: u32 = 2;

/// Serves a connection until it ends.
pub(crate) async fn serve<C: Clock + 'static>(
    decider: Arc<Decider<C>>,
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let end = if caller.is_surplus {
        match progress.until(Order::End, stream.write_all(overload::REDIS_REPLY)).await {
            Some(Ok(())) => ConnectionEnd::Graceful(Sends::Perhaps),
            _ => ConnectionEnd::Immediate,
        }
    } else {
        let max_commands = decider.settings().connections.max_requests;
        let buffers = ConnectionBuffers::new(caller.peer);
        RespConnection {
            decider: &decider,
            buffers,
            progress: &progress,
            max_commands,
            served: 0,
            is_leaving: false,
        }
        .serve(&mut stream)
        .await
    };
    if let ConnectionEnd::Graceful(sends) = end {
        let mut close = LingeringClose::new(sends);
        let closed = poll_fn(|context| close.poll_close(&progress, &mut stream, context));
        // A failure means that the client is gone.
        let _gone = progress.until(Order::End, closed).await;
    }
}

/// End of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ConnectionEnd {
    /// The client is gone, or exceeded a time limit.
    Immediate,
    /// All replies were written.
    Graceful(Sends),
}

/// Outcome of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadOutcome {
    Bytes,
    /// The client is gone.
    Closed,
    /// The connection has an order to end, and no bytes have come.
    Ordered,
}

struct RespConnection<'a, C> {
    decider: &'a Decider<C>,
    buffers: ConnectionBuffers,
    progress: &'a Progress,
    /// Maximum number of commands; 0 is unlimited.
    max_commands: u32,
    /// Number of replies.
    served: u64,
    /// Whether the connection has an order to end, and only waits for the command that has begun.
    is_leaving: bool,
}

impl<C: Clock> RespConnection<'_, C> {
    async fn serve<S: AsyncRead + AsyncWrite + Unpin>(mut self, stream: &mut S) -> ConnectionEnd {
        let mut polls = LAST_POLLS;
        loop {
            match self.read(stream).await {
                ReadOutcome::Bytes => {
                    if let Some(end) = self.reply(stream).await {
                        return end;
                    }
                }
                ReadOutcome::Closed => return ConnectionEnd::Immediate,
                ReadOutcome::Ordered if self.buffers.is_amid_command() => {
                    return self.interrupt(stream).await;
                }
                ReadOutcome::Ordered if polls == 0 => return ConnectionEnd::Graceful(Sends::Nothing),
                ReadOutcome::Ordered => {
                    // On a busy machine the runtime may not have been notified of its bytes yet.
                    polls -= 1;
                    yield_now().await;
                }
            }
        }
    }

    #[inline]
    async fn read<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> ReadOutcome {
        self.progress.share().await;
        poll_fn(|context| match self.buffers.poll_read(stream, context) {
            _ if self.progress.order() == Order::End => Poll::Ready(ReadOutcome::Closed),
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(ReadOutcome::Closed),
            Poll::Ready(Ok(bytes)) => {
                self.progress.spend(cost::bytes(bytes, cost::BYTES));
                Poll::Ready(ReadOutcome::Bytes)
            }
            // Only now, since bytes may have come at the last moment.
            Poll::Pending if self.progress.order() != Order::Go => Poll::Ready(ReadOutcome::Ordered),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Answers the input. Nothing more is read until the client has read all replies.
    #[inline]
    async fn reply<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> Option<ConnectionEnd> {
        let mut commands = 0;
        loop {
            self.progress.share().await;
            let round = self.buffers.answer(self.decider, self.progress).await;
            commands += round.commands;
            self.progress.spend(round.units + cost::bytes(self.buffers.out.len(), cost::BYTES));
            if round.then == NextStep::HangUp || self.write(stream).await.is_none() {
                return Some(ConnectionEnd::Immediate);
            }
            match round.then {
                NextStep::Read => break,
                NextStep::Write => self.progress.enter(Phase::Answering),
                NextStep::Close => return Some(ConnectionEnd::Graceful(Sends::Perhaps)),
                NextStep::Quit | NextStep::HangUp => return Some(ConnectionEnd::Graceful(Sends::Nothing)),
            }
        }
        self.update_phase(commands);
        if self.is_last() {
            return Some(ConnectionEnd::Graceful(Sends::Nothing));
        }
        if self.has_order() && commands != 0 && std::mem::replace(&mut self.is_leaving, true) {
            return Some(self.interrupt(stream).await);
        }
        None
    }

    /// Updates the phase of the connection. More bytes of a command that has begun are no step: a
    /// client that sends one now and then is slow.
    #[inline]
    fn update_phase(&mut self, commands: usize) {
        self.served += commands as u64;
        match (commands, self.buffers.is_amid_command()) {
            (0, true) => self.progress.begin_head(),
            (0, false) => {}
            (_, true) => self.progress.enter(Phase::Head),
            (_, false) => self.progress.enter(Phase::Idle),
        }
    }

    /// Whether the connection ends here: a command that has begun is still answered.
    #[inline]
    fn is_last(&self) -> bool {
        let spent = self.max_commands != 0 && self.served >= u64::from(self.max_commands);
        (spent || self.has_order() || !self.decider.is_ready())
            && self.served != 0
            && !self.buffers.is_amid_command()
    }

    #[inline]
    fn has_order(&self) -> bool {
        self.progress.order() != Order::Go
    }

    /// Writes the replies; `None` if the client is gone, or does not read.
    #[inline]
    async fn write<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> Option<()> {
        poll_fn(|context| match self.buffers.poll_write(stream, context) {
            Poll::Ready(written) => Poll::Ready(written.ok()),
            Poll::Pending if self.progress.order() == Order::End => Poll::Ready(None),
            Poll::Pending => {
                if self.progress.phase() != Phase::Writing {
                    self.progress.enter(Phase::Writing);
                }
                Poll::Pending
            }
        })
        .await
    }

    /// Replies to an incomplete command.
    async fn interrupt<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> ConnectionEnd {
        self.buffers.replies().error(match self.progress.order() {
            Order::Go | Order::Cut => "ERR timed out reading the command",
            Order::Stop | Order::End => "UNAVAILABLE the server is shutting down; retry",
        });
        match self.write(stream).await {
            Some(()) => ConnectionEnd::Graceful(Sends::Perhaps),
            None => ConnectionEnd::Immediate,
        }
    }
}

#[cfg(test)]
mod tests;
