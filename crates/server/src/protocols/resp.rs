//! Protocol of Redis: commands into requests, answers into replies.

mod buffers;
mod commands;
pub(crate) mod connection;
mod inline;
mod integer;
mod parser;
mod pipeline;
mod recent_limit;
mod reply;
mod session;

pub(crate) use commands::announce;
#[cfg(feature = "fuzzing")]
pub use parser::compare_parsers;
