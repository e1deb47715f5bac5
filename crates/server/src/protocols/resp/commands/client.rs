//! `CLIENT`: names that clients give themselves when they connect.

use slidegate::Clock;

use super::command_error::{CommandError, head};
use super::{Command, CommandContext};
use crate::protocols::resp::reply::Protocol;

/// Maximum length of a name.
const MAX_NAME_BYTES: usize = 255;
const MAX_ECHO_BYTES: usize = 128;

pub(super) fn client<C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), CommandError> {
    let takes = |subcommand: &str, arguments: usize| match command.len() == arguments + 2 {
        true => Ok(()),
        false => Err(CommandError::wrong_number(&format!("client|{subcommand}"))),
    };
    let subcommand = command.argument(1).to_ascii_lowercase();
    match &*subcommand {
        b"setname" => {
            takes("setname", 1)?;
            context.session.names.client = name(command.argument(2), "Client names")?;
            context.replies(out).ok();
        }
        b"setinfo" => {
            takes("setinfo", 2)?;
            set_info(context, command)?;
            context.replies(out).ok();
        }
        b"getname" => {
            takes("getname", 0)?;
            match &*context.session.names.client {
                "" => context.replies(out).nothing(),
                name => context.replies(out).bulk(name.as_bytes()),
            }
        }
        b"id" => {
            takes("id", 0)?;
            context.replies(out).integer(context.session.id as i64);
        }
        // A client sees only itself.
        b"info" | b"list" => {
            let line = line(context);
            context.replies(out).verbatim(&line);
        }
        b"no-evict" | b"no-touch" => {
            takes(&String::from_utf8_lossy(&subcommand), 1)?;
            if !command.is(2, "ON") && !command.is(2, "OFF") {
                return Err(CommandError::SYNTAX);
            }
            context.replies(out).ok();
        }
        _ => return Err(CommandError::unknown_subcommand(command, "CLIENT")),
    }
    Ok(())
}

fn set_info<C: Clock>(
    context: &mut CommandContext<'_, C>,
    command: Command<'_, '_>,
) -> Result<(), CommandError> {
    let names = &mut context.session.names;
    if command.is(2, "LIB-NAME") {
        names.library = name(command.argument(3), "lib-name")?;
    } else if command.is(2, "LIB-VER") {
        names.version = name(command.argument(3), "lib-ver")?;
    } else {
        let option = head(command.argument(2), MAX_ECHO_BYTES);
        return Err(CommandError::from(format!("ERR Unrecognized option '{option}'")));
    }
    Ok(())
}

/// Name that is valid in a list.
pub(super) fn name(bytes: &[u8], what: &str) -> Result<Box<str>, CommandError> {
    if bytes.len() > MAX_NAME_BYTES {
        return Err(CommandError::from(format!("ERR {what} cannot be longer than {MAX_NAME_BYTES} bytes")));
    }
    match std::str::from_utf8(bytes) {
        Ok(name) if name.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(name.into()),
        _ => {
            let text = format!("ERR {what} cannot contain spaces, newlines or special characters.");
            Err(CommandError::from(text))
        }
    }
}

fn line<C: Clock>(context: &CommandContext<'_, C>) -> String {
    let session = &*context.session;
    let names = &session.names;
    format!(
        "id={} addr={} name={} db=0 user=default lib-name={} lib-ver={} resp={}\n",
        session.id,
        session.peer,
        names.client,
        names.library,
        names.version,
        if session.protocol == Protocol::Three { 3 } else { 2 },
    )
}
