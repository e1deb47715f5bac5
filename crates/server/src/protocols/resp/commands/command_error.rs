//! Errors of commands, in the words of Redis where it has some.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Display;

use slidegate::GateError;

use super::Command;

/// Maximum length of an unknown command in an error.
const MAX_ECHO_BYTES: usize = 128;

/// Error of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct CommandError(pub(super) Cow<'static, str>);

impl From<&'static str> for CommandError {
    fn from(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl From<String> for CommandError {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl<E: Error> From<GateError<E>> for CommandError {
    fn from(error: GateError<E>) -> Self {
        Self::from(&error)
    }
}

impl<E: Error> From<&GateError<E>> for CommandError {
    #[cold]
    fn from(error: &GateError<E>) -> Self {
        match error {
            GateError::Store(error) => Self::store(error),
            error => Self::invalid(error),
        }
    }
}

impl CommandError {
    pub(super) const NO_AUTH: Self = Self(Cow::Borrowed("NOAUTH Authentication required."));
    pub(super) const WRONG_PASSWORD: Self =
        Self(Cow::Borrowed("WRONGPASS invalid username-password pair or user is disabled."));
    pub(super) const NOT_A_NUMBER: Self = Self(Cow::Borrowed("ERR value is not an integer or out of range"));
    pub(super) const SYNTAX: Self = Self(Cow::Borrowed("ERR syntax error"));
    pub(super) const AD_HOC_LIMITS_ARE_OFF: Self = Self(Cow::Borrowed(
        "NOPERM limits in commands are off: set server.ad_hoc_limits to true, or use SG.CHECK with a rule",
    ));

    /// Error of an argument or a request.
    #[cold]
    pub(super) fn invalid<E: Display>(error: E) -> Self {
        Self::from(format!("ERR {error}"))
    }

    /// The store did not answer, and there is no fallback.
    #[cold]
    pub(super) fn store<E: Display>(error: E) -> Self {
        Self::from(format!("UNAVAILABLE the store is unavailable, retry: {error}"))
    }

    #[cold]
    pub(super) fn wrong_number(name: &str) -> Self {
        Self::from(format!("ERR wrong number of arguments for '{name}' command"))
    }

    #[cold]
    pub(super) fn unknown(command: Command<'_, '_>) -> Self {
        let mut arguments = String::new();
        for argument in command.from(1) {
            if arguments.len() >= MAX_ECHO_BYTES {
                break;
            }
            arguments.extend(["'", &head(argument, MAX_ECHO_BYTES - arguments.len()), "' "]);
        }
        let name = head(command.argument(0), MAX_ECHO_BYTES);
        Self::from(format!("ERR unknown command '{name}', with args beginning with: {arguments}"))
    }

    #[cold]
    pub(super) fn unknown_subcommand(command: Command<'_, '_>, of: &str) -> Self {
        let name = head(command.argument(1), MAX_ECHO_BYTES);
        Self::from(format!("ERR unknown subcommand '{name}'. Try {of} HELP."))
    }
}

/// Beginning of an argument as text.
pub(super) fn head(bytes: &[u8], most: usize) -> Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(most)])
}
