//! `CLIENT`: what clients say of themselves when they connect.

use slidegate::Clock;

use super::refused::{Refused, head};
use super::{Command, Desk};
use crate::protocols::resp::reply::Protocol;

/// The longest name.
const MAX_NAME_BYTES: usize = 255;
const SHOWN_BYTES: usize = 128;

pub(super) fn client<C: Clock>(
    desk: &mut Desk<'_, C>,
    command: Command<'_, '_>,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    let takes = |subcommand: &str, arguments: usize| match command.len() == arguments + 2 {
        true => Ok(()),
        false => Err(Refused::wrong_number(&format!("client|{subcommand}"))),
    };
    let subcommand = command.argument(1).to_ascii_lowercase();
    match &*subcommand {
        b"setname" => {
            takes("setname", 1)?;
            desk.session.names.client = name(command.argument(2), "Client names")?;
            desk.replies(out).ok();
        }
        b"setinfo" => {
            takes("setinfo", 2)?;
            set_info(desk, command)?;
            desk.replies(out).ok();
        }
        b"getname" => {
            takes("getname", 0)?;
            match &*desk.session.names.client {
                "" => desk.replies(out).nothing(),
                name => desk.replies(out).bulk(name.as_bytes()),
            }
        }
        b"id" => {
            takes("id", 0)?;
            desk.replies(out).integer(desk.session.id as i64);
        }
        // Everybody sees himself only.
        b"info" | b"list" => {
            let line = line(desk);
            desk.replies(out).verbatim(&line);
        }
        b"no-evict" | b"no-touch" => {
            takes(&String::from_utf8_lossy(&subcommand), 1)?;
            if !command.is(2, "ON") && !command.is(2, "OFF") {
                return Err(Refused::SYNTAX);
            }
            desk.replies(out).ok();
        }
        _ => return Err(Refused::unknown_subcommand(command, "CLIENT")),
    }
    Ok(())
}

fn set_info<C: Clock>(desk: &mut Desk<'_, C>, command: Command<'_, '_>) -> Result<(), Refused> {
    let names = &mut desk.session.names;
    if command.is(2, "LIB-NAME") {
        names.library = name(command.argument(3), "lib-name")?;
    } else if command.is(2, "LIB-VER") {
        names.version = name(command.argument(3), "lib-ver")?;
    } else {
        let option = head(command.argument(2), SHOWN_BYTES);
        return Err(Refused::from(format!("ERR Unrecognized option '{option}'")));
    }
    Ok(())
}

/// A name that can stand in a list.
pub(super) fn name(given: &[u8], what: &str) -> Result<Box<str>, Refused> {
    if given.len() > MAX_NAME_BYTES {
        return Err(Refused::from(format!("ERR {what} cannot be longer than {MAX_NAME_BYTES} bytes")));
    }
    match std::str::from_utf8(given) {
        Ok(name) if name.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(name.into()),
        _ => {
            let text = format!("ERR {what} cannot contain spaces, newlines or special characters.");
            Err(Refused::from(text))
        }
    }
}

fn line<C: Clock>(desk: &Desk<'_, C>) -> String {
    let session = &*desk.session;
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
