//! `COMMAND`: list of commands, as clients expect it.

use super::Command;
use super::command_error::CommandError;
use super::spec::{SPECS, Spec};
use crate::protocols::resp::reply::ReplyWriter;

pub(super) fn command(command: Command<'_, '_>, mut replies: ReplyWriter<'_>) -> Result<(), CommandError> {
    let subcommand = command.get(1).unwrap_or(b"info");
    let named = || command.from(2).map(Spec::find);
    match &*subcommand.to_ascii_lowercase() {
        b"count" if command.len() == 2 => replies.integer(SPECS.len() as i64),
        b"list" if command.len() == 2 => {
            replies.array(SPECS.len());
            SPECS.iter().for_each(|spec| replies.bulk(spec.name.as_bytes()));
        }
        b"count" | b"list" => {
            let name = String::from_utf8_lossy(subcommand).to_ascii_lowercase();
            return Err(CommandError::wrong_number(&format!("command|{name}")));
        }
        b"info" if command.len() <= 2 => {
            replies.array(SPECS.len());
            SPECS.iter().for_each(|spec| describe(&mut replies, spec));
        }
        b"info" => {
            replies.array(command.len() - 2);
            for spec in named() {
                match spec {
                    Some(spec) => describe(&mut replies, spec),
                    None => replies.nothing(),
                }
            }
        }
        b"docs" if command.len() == 2 => {
            replies.map(SPECS.len());
            SPECS.iter().for_each(|spec| document(&mut replies, spec));
        }
        b"docs" => {
            replies.map(named().flatten().count());
            named().flatten().for_each(|spec| document(&mut replies, spec));
        }
        _ => return Err(CommandError::unknown_subcommand(command, "COMMAND")),
    }
    Ok(())
}

/// Describes a command: its name, arity, flags and keys; categories, tips, key specifications and
/// subcommands are empty.
fn describe(replies: &mut ReplyWriter<'_>, spec: &Spec) {
    replies.array(10);
    replies.bulk(spec.name.as_bytes());
    replies.integer(spec.arity);
    replies.set(spec.flags.len());
    spec.flags.iter().for_each(|flag| replies.simple(flag));
    // The first key, the last, and the step between them.
    (0..3).for_each(|_| replies.integer(spec.key));
    replies.set(0);
    (0..3).for_each(|_| replies.array(0));
}

fn document(replies: &mut ReplyWriter<'_>, spec: &Spec) {
    replies.bulk(spec.name.as_bytes());
    replies.map(2);
    for (name, value) in [("summary", spec.summary), ("group", spec.group)] {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
}
