//! The commands: what each is, and what it does.

mod check;
mod client;
mod failure;
mod greet;
mod info;
mod limit;
mod listing;
mod number;
mod refused;
mod settle;
mod spec;
mod throttle;

pub(crate) use throttle::announce;

use super::parser::{Known, Span};
use super::reply::Replies;
use super::session::Session;
use crate::config::listener::Listener;
use crate::config::live_settings::LiveSettings;
use crate::runtime::decider::Decider;
use crate::telemetry::auth_failures::AuthFailure;
use check::Check;
use limit::AdHoc;
use refused::Refused;
use settle::Settling;
use slidegate::Clock;
use spec::{Spec, Verb};

/// A command, and where its arguments are.
#[derive(Clone, Copy)]
pub(super) struct Command<'i, 's> {
    pub(super) input: &'i [u8],
    /// Its name first. There is one.
    pub(super) spans: &'s [Span],
}

impl<'i, 's> Command<'i, 's> {
    #[inline]
    fn get(&self, index: usize) -> Option<&'i [u8]> {
        self.spans.get(index).map(|span| &self.input[span.start..span.end])
    }

    /// An argument that is known to be there.
    #[inline]
    fn argument(&self, index: usize) -> &'i [u8] {
        let span = self.spans[index];
        &self.input[span.start..span.end]
    }

    /// With its name.
    #[inline]
    fn len(&self) -> usize {
        self.spans.len()
    }

    /// The arguments from one on.
    fn from(&self, first: usize) -> impl Iterator<Item = &'i [u8]> + use<'i, 's> {
        let input = self.input;
        self.spans.iter().skip(first).map(move |span| &input[span.start..span.end])
    }

    /// Its arguments as text.
    #[inline]
    fn texts(self) -> Texts<'i, 's> {
        Texts { command: self, whole: str::from_utf8(self.input).ok() }
    }

    /// Whether an argument is this word, however it is written.
    fn is(&self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// The arguments of a command, as far as they are text. All of it is looked at together: most commands are text all through, and to
/// look at many short pieces takes longer.
struct Texts<'i, 's> {
    command: Command<'i, 's>,
    whole: Option<&'i str>,
}

impl<'i> Texts<'i, '_> {
    #[inline]
    fn get(&self, index: usize) -> Option<&'i str> {
        match self.whole {
            // Where it is cut within a character, the argument is no text.
            Some(whole) => self.command.spans.get(index).and_then(|span| whole.get(span.start..span.end)),
            None => self.command.get(index).and_then(|argument| str::from_utf8(argument).ok()),
        }
    }
}

/// What is to be done about a command.
pub(super) enum Handled<'i> {
    /// Nothing more: its reply is written.
    Said,
    /// Its reply is written, and is the last.
    Over,
    /// A browser or another client of HTTP speaks: nobody answers it.
    HangsUp,
    /// The store has to be asked. In a box, since most commands come to less.
    Asks(Box<Question<'i>>),
}

/// Everything that commands look at besides themselves.
pub(super) struct Desk<'a, C> {
    pub(super) decider: &'a Decider<C>,
    pub(super) settings: &'a LiveSettings,
    pub(super) session: &'a mut Session,
}

impl<C: Clock> Desk<'_, C> {
    /// Does what a command asks for, as far as nobody else has to be asked for it.
    #[inline]
    pub(super) fn handle<'i>(&mut self, command: Command<'i, '_>, out: &mut Vec<u8>) -> Handled<'i> {
        match self.answer(command, out) {
            Ok(handled) => handled,
            Err(Refused(text)) => {
                self.replies(out).error(&text);
                Handled::Said
            }
        }
    }

    #[cold]
    fn record_failure(&self, failure: AuthFailure) {
        self.decider.auth_failures.record(Listener::Resp, self.session.peer, failure);
    }

    #[cold]
    fn hang_up<'i>(&self) -> Handled<'i> {
        self.decider.network().counts.end_abusive(Listener::Resp, self.session.peer, "POST or Host: of HTTP");
        Handled::HangsUp
    }

    #[cold]
    fn wrong_password(&self) -> Refused {
        self.record_failure(AuthFailure::Wrong);
        Refused::WRONG_PASSWORD
    }

    fn replies<'o>(&self, out: &'o mut Vec<u8>) -> Replies<'o> {
        Replies { out, protocol: self.session.protocol }
    }

    #[inline]
    fn answer<'i>(&mut self, command: Command<'i, '_>, out: &mut Vec<u8>) -> Result<Handled<'i>, Refused> {
        let known = self.session.known(self.settings);
        let Some(spec) = Spec::find(command.argument(0)) else {
            if command.is(0, "POST") || command.is(0, "Host:") {
                return Ok(self.hang_up());
            }
            // Redis says which commands there are to anybody.
            return Err(Refused::unknown(command));
        };
        if !spec.takes(command.len()) {
            return Err(Refused::wrong_number(spec.name));
        }
        if known == Known::No && !spec.is_for_anybody() {
            self.record_failure(AuthFailure::Missing);
            return Err(Refused::UNKNOWN_CALLER);
        }
        match spec.verb {
            Verb::Check => check::check(self, command, out),
            Verb::Limit => limit::limit(self, command, out),
            Verb::Throttle => throttle::throttle(self, command, out),
            Verb::Refund => settle::refund(command).map(|question| Handled::Asks(Box::new(question))),
            Verb::Settle => settle::settle(command).map(|question| Handled::Asks(Box::new(question))),
            _ => self.answer_at_once(spec, command, out),
        }
    }

    /// The commands that ask no store.
    #[cold]
    fn answer_at_once<'i>(
        &mut self,
        spec: &Spec,
        command: Command<'i, '_>,
        out: &mut Vec<u8>,
    ) -> Result<Handled<'i>, Refused> {
        match spec.verb {
            Verb::Ping => match (command.get(1), command.len()) {
                (None, _) => self.replies(out).simple("PONG"),
                (Some(text), 2) => self.replies(out).bulk(text),
                _ => return Err(Refused::wrong_number(spec.name)),
            },
            Verb::Echo => self.replies(out).bulk(command.argument(1)),
            Verb::Select => match number::signed(command.argument(1))? {
                0 => self.replies(out).ok(),
                _ => return Err(Refused::from("ERR DB index is out of range")),
            },
            Verb::Hello => greet::hello(self, command, out)?,
            Verb::Auth => greet::auth(self, command, out)?,
            Verb::Client => client::client(self, command, out)?,
            Verb::Command => listing::command(command, self.replies(out))?,
            Verb::Info => info::info(self, command, out),
            Verb::Reset => {
                self.session.reset();
                self.replies(out).simple("RESET");
            }
            Verb::Quit => {
                self.replies(out).ok();
                return Ok(Handled::Over);
            }
            Verb::Check | Verb::Limit | Verb::Throttle | Verb::Refund | Verb::Settle => {}
        }
        Ok(Handled::Said)
    }
}

/// What a command asks the store.
// It is in a box itself.
#[allow(clippy::large_enum_variant)]
pub(super) enum Question<'i> {
    Check(Check<'i>),
    Limit(AdHoc<'i>),
    Throttle(AdHoc<'i>),
    Settle(Settling),
}

impl Question<'_> {
    /// Asks, and writes the reply.
    pub(super) async fn answer<C: Clock>(self, decider: &Decider<C>, mut replies: Replies<'_>) {
        let failure = match self {
            Self::Check(asked) => check::answer(decider, asked, &mut replies).await,
            Self::Limit(asked) => limit::answer(decider, asked, &mut replies).await,
            Self::Throttle(asked) => throttle::answer(decider, asked, &mut replies).await,
            Self::Settle(asked) => settle::answer(decider, asked, &mut replies).await,
        };
        if let Err(failure) = failure {
            replies.error(&failure.text());
        }
    }
}
