//! Answers the commands that were read, one after the other or together.

use std::future::{Future, poll_fn, ready};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use futures_util::stream::{FuturesOrdered, StreamExt};
use slidegate::Clock;

use super::buffers::{FULL_BYTES, Talk};
use super::commands::{Command, Desk, Handled, Question};
use super::parser::{Parser, ProtocolError, Step};
use super::reply::{Protocol, Replies};
use super::session::Session;
use crate::config::live_settings::LiveSettings;
use crate::net::connections::{Order, Phase, Progress};
use crate::runtime::backend::Backend;
use crate::runtime::decider::Decider;

/// The most commands for which a store elsewhere is asked at a time.
const MAX_TOGETHER: usize = 128;

/// What came of answering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Round {
    /// How many commands were answered.
    pub(super) commands: usize,
    /// What they cost.
    pub(super) units: u32,
    pub(super) then: Then,
}

/// What comes after a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Then {
    /// No whole command is left.
    Read,
    /// What was answered is written first, since it has become much, or since the share of work is spent.
    Write,
    /// The last word is said. The client may still send more: it does not know.
    End,
    /// The client knows that it was the last word.
    Part,
    /// The client speaks HTTP: it gets no word at all, not even what was answered before.
    HangUp,
}

impl Talk {
    /// Answers what was read, as far as it goes at a time and as the connection's share of work lasts.
    #[inline]
    pub(super) async fn answer<C: Clock>(&mut self, decider: &Decider<C>, progress: &Progress) -> Round {
        match decider.gate().store() {
            Backend::Memory(_) => self.answer_now(decider, progress.left_units()),
            // In a box: connections to a service that keeps its state in memory have no room for it.
            Backend::Redis(_) => Box::pin(self.answer_together(decider, progress)).await,
        }
    }

    /// One after the other, at once.
    fn answer_now<C: Clock>(&mut self, decider: &Decider<C>, max_units: u32) -> Round {
        let settings = decider.settings();
        let Self { session, parser, input, out, .. } = self;
        let total = input.len();
        let mut reader = Reader { rest: input, parser, units: 0, max_units };
        let mut commands = 0;
        let then = loop {
            if out.len() >= FULL_BYTES {
                break Then::Write;
            }
            let handled = match reader.next(decider, &settings, session, out) {
                Next::Handled(handled) => handled,
                Next::Ends(then) => break then,
            };
            commands += 1;
            match handled {
                Handled::Said => {}
                Handled::Over => break Then::Part,
                Handled::HangsUp => break Then::HangUp,
                Handled::Asks(question) => {
                    at_once(question.answer(decider, Replies { out, protocol: session.protocol }));
                }
            }
        };
        let (read, units) = (total - reader.rest.len(), reader.units);
        input.drain(..read);
        Round { commands, units, then }
    }

    /// All that were read, together, up to a bound; answered in their order.
    async fn answer_together<C: Clock>(&mut self, decider: &Decider<C>, progress: &Progress) -> Round {
        let Self { session, parser, input, out, .. } = self;
        let total = input.len();
        let mut reader = Reader { rest: input, parser, units: 0, max_units: progress.left_units() };
        let mut asked = FuturesOrdered::new();
        let mut commands = 0;
        let mut then = reader.ask(decider, session, out, &mut asked, &mut commands);
        let (read, units) = (total - reader.rest.len(), reader.units);
        if !asked.is_empty() {
            progress.enter(Phase::Answering);
        }
        while !asked.is_empty() {
            let next = poll_fn(|context| match progress.order() {
                Order::Go | Order::Cut => asked.poll_next_unpin(context),
                Order::Stop | Order::End => Poll::Ready(None),
            });
            let Some(reply) = next.await else {
                // They may have been charged or not.
                let mut replies = Replies { out: &mut *out, protocol: Protocol::Two };
                (0..asked.len()).for_each(|_| replies.error("UNAVAILABLE the service ends; ask again"));
                then = Then::End;
                break;
            };
            out.extend_from_slice(&reply);
        }
        drop(asked);
        input.drain(..read);
        Round { commands, units, then }
    }
}

type Asked<'i> = FuturesOrdered<Pin<Box<dyn Future<Output = Vec<u8>> + Send + 'i>>>;

/// Finds one command after the other.
struct Reader<'i, 'p> {
    rest: &'i mut [u8],
    parser: &'p mut Parser,
    /// What was read so far costs this, and may cost that.
    units: u32,
    max_units: u32,
}

/// The next command, or why there is none.
enum Next<'i> {
    Handled(Handled<'i>),
    Ends(Then),
}

impl<'i> Reader<'i, '_> {
    #[inline]
    fn next<C: Clock>(
        &mut self,
        decider: &Decider<C>,
        settings: &LiveSettings,
        session: &mut Session,
        out: &mut Vec<u8>,
    ) -> Next<'i> {
        while self.units < self.max_units {
            self.units += 1;
            match self.parser.next(self.rest, &session.bounds(settings)) {
                Ok(Step::More) => return Next::Ends(Then::Read),
                Ok(Step::Nothing(bytes)) => drop(self.take(bytes)),
                Ok(Step::Command(bytes)) => {
                    let input = self.take(bytes);
                    let command = Command { input, spans: self.parser.arguments() };
                    return Next::Handled(Desk { decider, settings, session }.handle(command, out));
                }
                Err(error) => {
                    refuse(error, out);
                    return Next::Ends(Then::End);
                }
            }
        }
        Next::Ends(Then::Write)
    }

    fn take(&mut self, bytes: usize) -> &'i [u8] {
        let (taken, rest) = mem::take(&mut self.rest).split_at_mut(bytes);
        self.rest = rest;
        taken
    }

    /// Begins to ask for all that is there.
    fn ask<'a: 'i, C: Clock>(
        &mut self,
        decider: &'a Decider<C>,
        session: &mut Session,
        out: &mut Vec<u8>,
        asked: &mut Asked<'i>,
        commands: &mut usize,
    ) -> Then {
        let settings = decider.settings();
        let mut aside_bytes = 0;
        while asked.len() < MAX_TOGETHER && out.len() + aside_bytes < FULL_BYTES {
            // What is known at once waits for those before it.
            let mut aside = Vec::new();
            let said = if asked.is_empty() { &mut *out } else { &mut aside };
            let (handled, ends) = match self.next(decider, &settings, session, said) {
                Next::Handled(handled) => (Some(handled), None),
                Next::Ends(then) => (None, Some(then)),
            };
            *commands += usize::from(handled.is_some());
            let protocol = session.protocol;
            let ends = match handled {
                Some(Handled::Asks(question)) => {
                    asked.push_back(Box::pin(answered(question, decider, protocol)));
                    None
                }
                Some(Handled::Over) => Some(Then::Part),
                Some(Handled::HangsUp) => Some(Then::HangUp),
                Some(Handled::Said) | None => ends,
            };
            if !aside.is_empty() {
                aside_bytes += aside.len();
                asked.push_back(Box::pin(ready(aside)));
            }
            if let Some(ends) = ends {
                return ends;
            }
        }
        Then::Write
    }
}

async fn answered<C: Clock>(
    question: Box<Question<'_>>,
    decider: &Decider<C>,
    protocol: Protocol,
) -> Vec<u8> {
    let mut out = Vec::new();
    question.answer(decider, Replies { out: &mut out, protocol }).await;
    out
}

/// What comes of something that waits for nothing.
#[inline]
pub(super) fn at_once<T>(what: impl Future<Output = T>) -> T {
    match pin!(what).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("a store in memory answers at once"),
    }
}

#[cold]
fn refuse(error: ProtocolError, out: &mut Vec<u8>) {
    Replies { out, protocol: Protocol::Two }.error(&format!("ERR Protocol error: {error}"));
}
