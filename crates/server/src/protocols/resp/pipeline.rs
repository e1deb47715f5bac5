//! Pipeline: answers the commands that were read, one after the other or concurrently.

use std::future::{Future, poll_fn, ready};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_util::stream::{FuturesOrdered, StreamExt};
use slidegate::Clock;

use super::buffers::{ConnectionBuffers, FULL_BYTES};
use super::commands::{Command, CommandContext, CommandOutcome, StoreCommand};
use super::parser::{ParseStep, Parser, ProtocolError};
use super::reply::{Protocol, ReplyWriter};
use super::session::Session;
use crate::config::ServerSettings;
use crate::net::connections::{Order, Phase, Progress};
use crate::runtime::backend::Backend;
use crate::runtime::decider::Decider;

/// Maximum number of commands that wait for a remote store at a time.
const MAX_CONCURRENT: usize = 128;

/// Outcome of a pipeline step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PipelineOutcome {
    /// Number of commands.
    pub(super) commands: usize,
    /// Units of work.
    pub(super) units: u32,
    pub(super) then: NextStep,
}

/// Next step of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextStep {
    /// Read: no complete command is left.
    Read,
    /// Write the replies first: the buffer is full, or the share of work is spent.
    Write,
    /// Close after the last reply. The client may still send more.
    Close,
    /// Close after the last reply, which the client expects.
    Quit,
    /// Close at once: the client speaks HTTP, and gets no reply, not even those of earlier
    /// commands.
    HangUp,
}

impl ConnectionBuffers {
    /// Answers the commands that were read, as far as the buffer and the connection's share of work
    /// last.
    #[inline]
    pub(super) async fn answer<C: Clock>(
        &mut self,
        decider: &Decider<C>,
        progress: &Progress,
    ) -> PipelineOutcome {
        match decider.gate().store() {
            Backend::Memory(_) => self.answer_now(decider, progress.left_units()),
            // Boxed: connections to a server with its state in memory have no space for it.
            Backend::Redis(_) => Box::pin(self.answer_concurrently(decider, progress)).await,
        }
    }

    /// Answers one command after the other, synchronously.
    fn answer_now<C: Clock>(&mut self, decider: &Decider<C>, max_units: u32) -> PipelineOutcome {
        let settings = decider.settings();
        let Self { session, parser, input, out, .. } = self;
        let total = input.len();
        let mut reader = Reader { rest: input, parser, units: 0, max_units };
        let mut commands = 0;
        let then = loop {
            if out.len() >= FULL_BYTES {
                break NextStep::Write;
            }
            let handled = match reader.next(decider, &settings, session, out) {
                NextCommand::Handled(handled) => handled,
                NextCommand::Ends(then) => break then,
            };
            commands += 1;
            match handled {
                CommandOutcome::Replied => {}
                CommandOutcome::Quit => break NextStep::Quit,
                CommandOutcome::Disconnect => break NextStep::HangUp,
                CommandOutcome::NeedsStore(store_command) => {
                    at_once(store_command.answer(decider, ReplyWriter { out, protocol: session.protocol }));
                }
            }
        };
        let (read, units) = (total - reader.rest.len(), reader.units);
        input.drain(..read);
        PipelineOutcome { commands, units, then }
    }

    /// Decides the commands concurrently, up to a bound, and answers them in order.
    async fn answer_concurrently<C: Clock>(
        &mut self,
        decider: &Decider<C>,
        progress: &Progress,
    ) -> PipelineOutcome {
        let Self { session, parser, input, out, .. } = self;
        let total = input.len();
        let mut reader = Reader { rest: input, parser, units: 0, max_units: progress.left_units() };
        let mut pending = FuturesOrdered::new();
        let mut commands = 0;
        let mut then = reader.start(decider, session, out, &mut pending, &mut commands);
        let (read, units) = (total - reader.rest.len(), reader.units);
        if !pending.is_empty() {
            progress.enter(Phase::Answering);
        }
        while !pending.is_empty() {
            let next = poll_fn(|context| match progress.order() {
                Order::Go | Order::Cut => pending.poll_next_unpin(context),
                Order::Stop | Order::End => Poll::Ready(None),
            });
            let Some(reply) = next.await else {
                // Their charges may have happened or not.
                let mut replies = ReplyWriter { out: &mut *out, protocol: Protocol::Two };
                (0..pending.len())
                    .for_each(|_| replies.error("UNAVAILABLE the server is shutting down; retry"));
                then = NextStep::Close;
                break;
            };
            out.extend_from_slice(&reply);
        }
        drop(pending);
        input.drain(..read);
        PipelineOutcome { commands, units, then }
    }
}

type PendingReplies<'i> = FuturesOrdered<Pin<Box<dyn Future<Output = Vec<u8>> + Send + 'i>>>;

/// Reader of commands.
struct Reader<'i, 'p> {
    rest: &'i mut [u8],
    parser: &'p mut Parser,
    /// Units spent so far, and their maximum.
    units: u32,
    max_units: u32,
}

/// The next command, or the reason why there is none.
enum NextCommand<'i> {
    Handled(CommandOutcome<'i>),
    Ends(NextStep),
}

impl<'i> Reader<'i, '_> {
    #[inline]
    fn next<C: Clock>(
        &mut self,
        decider: &Decider<C>,
        settings: &ServerSettings,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> NextCommand<'i> {
        while self.units < self.max_units {
            self.units += 1;
            match self.parser.next(self.rest, &session.bounds(settings)) {
                Ok(ParseStep::More) => return NextCommand::Ends(NextStep::Read),
                Ok(ParseStep::Nothing(bytes)) => drop(self.take(bytes)),
                Ok(ParseStep::Command(bytes)) => {
                    let input = self.take(bytes);
                    let command = Command { input, spans: self.parser.arguments() };
                    return NextCommand::Handled(
                        CommandContext { decider, settings, session }.handle(command, out),
                    );
                }
                Err(error) => {
                    refuse(error, out);
                    return NextCommand::Ends(NextStep::Close);
                }
            }
        }
        NextCommand::Ends(NextStep::Write)
    }

    fn take(&mut self, bytes: usize) -> &'i [u8] {
        let (head, rest) = mem::take(&mut self.rest).split_at_mut(bytes);
        self.rest = rest;
        head
    }

    /// Starts all commands that were read.
    fn start<'a: 'i, C: Clock>(
        &mut self,
        decider: &'a Decider<C>,
        session: &mut Session,
        out: &mut Vec<u8>,
        pending: &mut PendingReplies<'i>,
        commands: &mut usize,
    ) -> NextStep {
        let settings = decider.settings();
        let mut aside_bytes = 0;
        while pending.len() < MAX_CONCURRENT && out.len() + aside_bytes < FULL_BYTES {
            // A reply without the store waits for those before it.
            let mut aside = Vec::new();
            let output = if pending.is_empty() { &mut *out } else { &mut aside };
            let (handled, ends) = match self.next(decider, &settings, session, output) {
                NextCommand::Handled(handled) => (Some(handled), None),
                NextCommand::Ends(then) => (None, Some(then)),
            };
            *commands += usize::from(handled.is_some());
            let protocol = session.protocol;
            let ends = match handled {
                Some(CommandOutcome::NeedsStore(store_command)) => {
                    pending.push_back(Box::pin(answered(store_command, decider, protocol)));
                    None
                }
                Some(CommandOutcome::Quit) => Some(NextStep::Quit),
                Some(CommandOutcome::Disconnect) => Some(NextStep::HangUp),
                Some(CommandOutcome::Replied) | None => ends,
            };
            if !aside.is_empty() {
                aside_bytes += aside.len();
                pending.push_back(Box::pin(ready(aside)));
            }
            if let Some(ends) = ends {
                return ends;
            }
        }
        NextStep::Write
    }
}

async fn answered<C: Clock>(
    store_command: Box<StoreCommand<'_>>,
    decider: &Decider<C>,
    protocol: Protocol,
) -> Vec<u8> {
    let mut out = Vec::new();
    store_command.answer(decider, ReplyWriter { out: &mut out, protocol }).await;
    out
}

/// Output of a future that never waits.
#[inline]
pub(super) fn at_once<T>(what: impl Future<Output = T>) -> T {
    match pin!(what).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a store in memory answers at once"),
    }
}

#[cold]
fn refuse(error: ProtocolError, out: &mut Vec<u8>) {
    ReplyWriter { out, protocol: Protocol::Two }.error(&format!("ERR Protocol error: {error}"));
}
