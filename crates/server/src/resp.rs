//! The protocol of Redis: commands into requests, answers into replies, and nothing else.

mod close;
mod commands;
pub(crate) mod connection;
mod inline;
mod integer;
#[cfg(test)]
mod naive;
mod parser;
mod reply;
mod round;
#[cfg(test)]
mod seen;
mod session;
mod talk;

pub(crate) use commands::announce;
