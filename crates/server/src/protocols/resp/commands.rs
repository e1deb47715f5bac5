//! Commands: their dispatch, and the types that all of them share.

mod check;
mod client;
mod command_error;
mod greet;
mod info;
mod limit;
mod listing;
mod number;
mod settle;
mod spec;
mod throttle;

pub(crate) use throttle::announce;

use super::parser::{ArgumentSpan, AuthState};
use super::reply::ReplyWriter;
use super::session::Session;
use crate::config::ServerSettings;
use crate::config::listener::Listener;
use crate::runtime::decider::Decider;
use crate::telemetry::auth_failures::AuthFailure;
use check::Check;
use command_error::CommandError;
use limit::AdHoc;
use settle::SettleCommand;
use slidegate::Clock;
use spec::{Spec, Verb};

/// Command: the positions of its arguments in the input.
#[derive(Clone, Copy)]
pub(super) struct Command<'i, 's> {
    pub(super) input: &'i [u8],
    /// Its arguments, the name first. There is at least the name.
    pub(super) spans: &'s [ArgumentSpan],
}

impl<'i, 's> Command<'i, 's> {
    #[inline]
    fn get(&self, index: usize) -> Option<&'i [u8]> {
        self.spans.get(index).map(|span| &self.input[span.start..span.end])
    }

    /// An argument that must exist.
    #[inline]
    fn argument(&self, index: usize) -> &'i [u8] {
        let span = self.spans[index];
        &self.input[span.start..span.end]
    }

    /// Number of arguments, its name included.
    #[inline]
    fn len(&self) -> usize {
        self.spans.len()
    }

    /// Arguments from an index on.
    fn from(&self, first: usize) -> impl Iterator<Item = &'i [u8]> + use<'i, 's> {
        let input = self.input;
        self.spans.iter().skip(first).map(move |span| &input[span.start..span.end])
    }

    /// Its arguments as text.
    #[inline]
    fn texts(self) -> Texts<'i, 's> {
        Texts { command: self, whole: str::from_utf8(self.input).ok() }
    }

    /// Whether an argument is this word, in any case.
    fn is(&self, index: usize, word: &str) -> bool {
        self.get(index).is_some_and(|argument| argument.eq_ignore_ascii_case(word.as_bytes()))
    }
}

/// Arguments as text. The whole command is checked at once: most commands are text, and to check
/// many short pieces takes longer.
struct Texts<'i, 's> {
    command: Command<'i, 's>,
    whole: Option<&'i str>,
}

impl<'i> Texts<'i, '_> {
    #[inline]
    fn get(&self, index: usize) -> Option<&'i str> {
        match self.whole {
            // A cut within a character makes the argument invalid.
            Some(whole) => self.command.spans.get(index).and_then(|span| whole.get(span.start..span.end)),
            None => self.command.get(index).and_then(|argument| str::from_utf8(argument).ok()),
        }
    }
}

/// Outcome of handling a command.
pub(super) enum CommandOutcome<'i> {
    /// The reply is written.
    Replied,
    /// The reply is written, and is the last.
    Quit,
    /// The client speaks HTTP, like a browser: it gets no reply.
    Disconnect,
    /// The store has to decide. Boxed, since most commands are smaller.
    NeedsStore(Box<StoreCommand<'i>>),
}

/// Context of commands.
pub(super) struct CommandContext<'a, C> {
    pub(super) decider: &'a Decider<C>,
    pub(super) settings: &'a ServerSettings,
    pub(super) session: &'a mut Session,
}

impl<C: Clock> CommandContext<'_, C> {
    /// Handles a command as far as it needs no store.
    #[inline]
    pub(super) fn handle<'i>(&mut self, command: Command<'i, '_>, out: &mut Vec<u8>) -> CommandOutcome<'i> {
        match self.answer(command, out) {
            Ok(handled) => handled,
            Err(CommandError(text)) => {
                self.replies(out).error(&text);
                CommandOutcome::Replied
            }
        }
    }

    #[cold]
    fn record_failure(&self, failure: AuthFailure) {
        self.decider.auth_failures.record(Listener::Resp, self.session.peer, failure);
    }

    #[cold]
    fn hang_up<'i>(&self) -> CommandOutcome<'i> {
        self.decider.network().counts.end_abusive(Listener::Resp, self.session.peer, "POST or Host: of HTTP");
        CommandOutcome::Disconnect
    }

    #[cold]
    fn wrong_password(&self) -> CommandError {
        self.record_failure(AuthFailure::Wrong);
        CommandError::WRONG_PASSWORD
    }

    fn replies<'o>(&self, out: &'o mut Vec<u8>) -> ReplyWriter<'o> {
        ReplyWriter { out, protocol: self.session.protocol }
    }

    #[inline]
    fn answer<'i>(
        &mut self,
        command: Command<'i, '_>,
        out: &mut Vec<u8>,
    ) -> Result<CommandOutcome<'i>, CommandError> {
        let auth = self.session.auth_state(self.settings);
        let Some(spec) = Spec::find(command.argument(0)) else {
            if command.is(0, "POST") || command.is(0, "Host:") {
                return Ok(self.hang_up());
            }
            // Redis also names unknown commands to clients without authentication.
            return Err(CommandError::unknown(command));
        };
        if !spec.takes(command.len()) {
            return Err(CommandError::wrong_number(spec.name));
        }
        if auth == AuthState::Anonymous && !spec.needs_no_auth() {
            self.record_failure(AuthFailure::Missing);
            return Err(CommandError::NO_AUTH);
        }
        match spec.verb {
            Verb::Check => check::check(self, command, out),
            Verb::Limit => limit::limit(self, command, out),
            Verb::Throttle => throttle::throttle(self, command, out),
            Verb::Refund => settle::refund(command),
            Verb::Settle => settle::settle(command),
            _ => self.answer_at_once(spec, command, out),
        }
    }

    /// Handles the commands that need no store.
    #[cold]
    fn answer_at_once<'i>(
        &mut self,
        spec: &Spec,
        command: Command<'i, '_>,
        out: &mut Vec<u8>,
    ) -> Result<CommandOutcome<'i>, CommandError> {
        match spec.verb {
            Verb::Ping => match (command.get(1), command.len()) {
                (None, _) => self.replies(out).simple("PONG"),
                (Some(text), 2) => self.replies(out).bulk(text),
                _ => return Err(CommandError::wrong_number(spec.name)),
            },
            Verb::Echo => self.replies(out).bulk(command.argument(1)),
            Verb::Select => match number::signed(command.argument(1))? {
                0 => self.replies(out).ok(),
                _ => return Err(CommandError::from("ERR DB index is out of range")),
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
                return Ok(CommandOutcome::Quit);
            }
            Verb::Check | Verb::Limit | Verb::Throttle | Verb::Refund | Verb::Settle => {}
        }
        Ok(CommandOutcome::Replied)
    }
}

/// Command that the store decides.
// It is boxed itself.
#[allow(clippy::large_enum_variant)]
pub(super) enum StoreCommand<'i> {
    Check(Check<'i>),
    Limit(AdHoc<'i>),
    Throttle(AdHoc<'i>),
    Settle(SettleCommand),
}

impl StoreCommand<'_> {
    /// Decides, and writes the reply.
    pub(super) async fn answer<C: Clock>(self, decider: &Decider<C>, mut replies: ReplyWriter<'_>) {
        let answered = match self {
            Self::Check(pending) => check::answer(decider, pending, &mut replies).await,
            Self::Limit(pending) => limit::answer(decider, pending, &mut replies).await,
            Self::Throttle(pending) => throttle::answer(decider, pending, &mut replies).await,
            Self::Settle(pending) => settle::answer(decider, pending, &mut replies).await,
        };
        if let Err(CommandError(text)) = answered {
            replies.error(&text);
        }
    }
}
