//! The protocol of Redis: commands into requests, answers into replies, and nothing else.

mod buffers;
mod close;
mod commands;
pub(crate) mod connection;
mod inline;
mod integer;
mod parser;
#[cfg(test)]
mod parser_comparison;
mod pipeline;
mod recent_limit;
#[cfg(test)]
mod reference_parser;
mod reply;
mod session;

pub(crate) use commands::announce;
