//! One connection: commands are answered in their order, those that came together at once.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use slidegate::Clock;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::task::yield_now;

use super::buffers::Talk;
use super::close::close;
use super::pipeline::Then;
use crate::net::accept::Caller;
use crate::net::connections::{Order, Phase, Progress, Sends, cost};
use crate::runtime::decider::Decider;

/// How often a connection on which nothing was asked is looked at again before it ends, as with HTTP.
const LAST_LOOKS: u32 = 2;
/// What a connection is told that is one too many, in the words of Redis.
const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";

/// Answers what comes over a connection until it ends.
pub(crate) async fn serve<C: Clock + 'static>(
    decider: Arc<Decider<C>>,
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    caller: Caller,
    progress: Arc<Progress>,
) {
    let end = if caller.is_in_lane {
        let told = progress.until(Order::End, stream.write_all(TOO_MANY)).await;
        if matches!(told, Some(Ok(()))) { End::WithAWord(Sends::Perhaps) } else { End::AtOnce }
    } else {
        let max_commands = decider.settings().connections.max_requests;
        let talk = Talk::new(caller.peer);
        Conversation {
            decider: &decider,
            talk,
            progress: &progress,
            max_commands,
            served: 0,
            is_leaving: false,
        }
        .hold(&mut stream)
        .await
    };
    if let End::WithAWord(sends) = end {
        close(&mut stream, sends, &progress).await;
    }
}

/// How a connection ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// The client is gone, or its time is over.
    AtOnce,
    /// All that was to be said was said.
    WithAWord(Sends),
}

/// What came of listening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Heard {
    Something,
    /// The client is gone.
    TheEnd,
    /// The connection was told to end, and nothing has come.
    Nothing,
}

struct Conversation<'a, C> {
    decider: &'a Decider<C>,
    talk: Talk,
    progress: &'a Progress,
    /// How many commands it may have; 0: any number.
    max_commands: u32,
    /// How many were answered.
    served: u64,
    /// Whether it has an order to end, and only the command that has begun is awaited.
    is_leaving: bool,
}

impl<C: Clock> Conversation<'_, C> {
    async fn hold<S: AsyncRead + AsyncWrite + Unpin>(mut self, stream: &mut S) -> End {
        let mut looks = LAST_LOOKS;
        loop {
            match self.hear(stream).await {
                Heard::Something => {
                    if let Some(end) = self.reply(stream).await {
                        return end;
                    }
                }
                Heard::TheEnd => return End::AtOnce,
                Heard::Nothing if self.talk.is_amid_command() => return self.interrupt(stream).await,
                Heard::Nothing if looks == 0 => return End::WithAWord(Sends::Nothing),
                Heard::Nothing => {
                    // On a machine that is busy something may have come of which the runtime has not heard.
                    looks -= 1;
                    yield_now().await;
                }
            }
        }
    }

    #[inline]
    async fn hear<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> Heard {
        self.progress.share().await;
        poll_fn(|context| match self.talk.poll_read(stream, context) {
            _ if self.progress.order() == Order::End => Poll::Ready(Heard::TheEnd),
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(Heard::TheEnd),
            Poll::Ready(Ok(bytes)) => {
                self.progress.spend(cost::bytes(bytes, cost::BYTES));
                Poll::Ready(Heard::Something)
            }
            // Only now, since something may have come at the last moment.
            Poll::Pending if self.progress.order() != Order::Go => Poll::Ready(Heard::Nothing),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Answers what was read. Nothing more is read until the client has taken all of it.
    #[inline]
    async fn reply<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> Option<End> {
        let mut commands = 0;
        loop {
            self.progress.share().await;
            let round = self.talk.answer(self.decider, self.progress).await;
            commands += round.commands;
            self.progress.spend(round.units + cost::bytes(self.talk.out.len(), cost::BYTES));
            if round.then == Then::HangUp || self.write(stream).await.is_none() {
                return Some(End::AtOnce);
            }
            match round.then {
                Then::Read => break,
                Then::Write => self.progress.enter(Phase::Answering),
                Then::End => return Some(End::WithAWord(Sends::Perhaps)),
                Then::Part | Then::HangUp => return Some(End::WithAWord(Sends::Nothing)),
            }
        }
        self.note(commands);
        if self.is_last() {
            return Some(End::WithAWord(Sends::Nothing));
        }
        if self.has_order() && commands != 0 && std::mem::replace(&mut self.is_leaving, true) {
            return Some(self.interrupt(stream).await);
        }
        None
    }

    /// Says how far it is. More bytes of a command that has begun are no step: a client that sends one now and then is slow.
    #[inline]
    fn note(&mut self, commands: usize) {
        self.served += commands as u64;
        match (commands, self.talk.is_amid_command()) {
            (0, true) => self.progress.begin_head(),
            (0, false) => {}
            (_, true) => self.progress.enter(Phase::Head),
            (_, false) => self.progress.enter(Phase::Idle),
        }
    }

    /// Whether the connection ends here: what has begun is still answered.
    #[inline]
    fn is_last(&self) -> bool {
        let spent = self.max_commands != 0 && self.served >= u64::from(self.max_commands);
        (spent || self.has_order() || !self.decider.is_ready())
            && self.served != 0
            && !self.talk.is_amid_command()
    }

    #[inline]
    fn has_order(&self) -> bool {
        self.progress.order() != Order::Go
    }

    /// Nothing if the client is gone, or does not take what it is told.
    #[inline]
    async fn write<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> Option<()> {
        poll_fn(|context| match self.talk.poll_write(stream, context) {
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

    /// Tells a client whose command does not come to its end.
    async fn interrupt<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> End {
        self.talk.replies().error(match self.progress.order() {
            Order::Go | Order::Cut => "ERR the command took too long to arrive; send it again, all at once",
            Order::Stop | Order::End => "UNAVAILABLE the service ends; ask again",
        });
        match self.write(stream).await {
            Some(()) => End::WithAWord(Sends::Perhaps),
            None => End::AtOnce,
        }
    }
}

#[cfg(test)]
mod tests;
