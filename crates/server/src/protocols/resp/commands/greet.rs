//! `HELLO` and `AUTH`: protocol version and authentication.

use slidegate::Clock;

use super::client::name;
use super::command_error::{CommandError, head};
use super::{Command, CommandContext};
use crate::protocols::resp::parser::AuthState;
use crate::protocols::resp::reply::Protocol;
use crate::protocols::resp::session::USER;
use crate::telemetry::auth_failures::AuthFailure;

const NOT_CONFIGURED: &str = "ERR AUTH <password> called without any password configured for the default user. \
                              Are you sure your configuration is correct?";
const HELLO_NEEDS_AUTH: &str = "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> \
                                AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol \
                                version at the same time";
const MAX_ECHO_BYTES: usize = 128;

/// `AUTH [user] password`.
pub(super) fn auth<C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let (user, password) = match command.len() {
        2 if context.settings.token.is_none() => return Err(CommandError::from(NOT_CONFIGURED)),
        2 => (USER, command.argument(1)),
        3 => (command.argument(1), command.argument(2)),
        _ => return Err(CommandError::SYNTAX),
    };
    match context.session.authenticate(context.settings, user, password) {
        AuthState::Authenticated => context.replies(out).ok(),
        AuthState::Anonymous => return Err(context.wrong_password()),
    }
    Ok(())
}

/// `HELLO [2|3] [AUTH user password] [SETNAME name]`. It changes everything or nothing.
pub(super) fn hello<C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let protocol = match command.get(1) {
        None => context.session.protocol,
        Some(b"2") => Protocol::Two,
        Some(b"3") => Protocol::Three,
        Some(other) => return Err(no_such_protocol(other)),
    };
    let (mut credentials, mut client, mut at) = (None, None, 2);
    while at < command.len() {
        match (command.get(at + 1), command.get(at + 2)) {
            (Some(user), Some(password)) if command.is(at, "AUTH") => {
                (credentials, at) = (Some((user, password)), at + 3);
            }
            (Some(argument), _) if command.is(at, "SETNAME") => {
                (client, at) = (Some(name(argument, "Client names")?), at + 2);
            }
            _ => {
                let option = head(command.argument(at), MAX_ECHO_BYTES);
                return Err(CommandError::from(format!("ERR Syntax error in HELLO option '{option}'")));
            }
        }
    }
    let auth = match credentials {
        Some((user, password)) => match context.session.authenticate(context.settings, user, password) {
            AuthState::Anonymous => return Err(context.wrong_password()),
            auth => auth,
        },
        None => context.session.auth_state(context.settings),
    };
    if auth == AuthState::Anonymous {
        context.record_failure(AuthFailure::Missing);
        return Err(CommandError::from(HELLO_NEEDS_AUTH));
    }
    if let Some(client) = client {
        context.session.names.client = client;
    }
    context.session.protocol = protocol;
    introduce(context, out);
    Ok(())
}

fn no_such_protocol(version: &[u8]) -> CommandError {
    let number = std::str::from_utf8(version).ok().and_then(|text| text.parse::<i64>().ok());
    CommandError::from(match number {
        Some(_) => "NOPROTO unsupported protocol version",
        None => "ERR Protocol version is not an integer or out of range",
    })
}

fn introduce<C: Clock>(context: &CommandContext<'_, C>, out: &mut Vec<u8>) {
    let id = context.session.id as i64;
    let mut replies = context.replies(out);
    replies.map(7);
    let version = env!("CARGO_PKG_VERSION");
    for (name, value) in [("server", "slidegate"), ("version", version)] {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
    let proto = if replies.protocol == Protocol::Three { 3 } else { 2 };
    for (name, value) in [("proto", proto), ("id", id)] {
        replies.bulk(name.as_bytes());
        replies.integer(value);
    }
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"modules");
    replies.array(0);
}
