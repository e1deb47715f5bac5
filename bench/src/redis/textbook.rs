//! What the textbooks write, as a script each. All of them ask the server for the time and set an
//! expiry.

use super::question::{Parameters, Question, subject};
use super::server::Server;

/// So many per window.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// How many.
    pub quota: u64,
    /// In how long.
    pub window_ms: u64,
}

/// A sorted set with a member per request: the time in microseconds and the request's id.
pub fn zset_log(server: &Server, rate: Rate) -> Question {
    Question::script(server, "ZSET log", include_str!("textbook/zset_log.lua"), move |id| Parameters {
        keys: vec![format!("zset:{}", subject(id))],
        arguments: [rate.arguments().as_slice(), &[request_id(id)]].concat(),
    })
}

/// The same with nothing but the time in a member, which takes less room and is unique on a server
/// whose clock never goes back.
pub fn zset_log_of_times(server: &Server, rate: Rate) -> Question {
    let script = include_str!("textbook/zset_log.lua");
    Question::script(server, "ZSET log, only times", script, move |id| Parameters {
        keys: vec![format!("times:{}", subject(id))],
        arguments: [rate.arguments().as_slice(), &[String::new()]].concat(),
    })
}

/// Two sorted sets of one subject in one script.
pub fn two_zset_logs(server: &Server, rates: [Rate; 2]) -> Question {
    let script = include_str!("textbook/two_zset_logs.lua");
    let arguments = rates.map(|rate| rate.arguments()).concat();
    Question::script(server, "two ZSET logs", script, move |id| Parameters {
        keys: vec![format!("short:{}", subject(id)), format!("long:{}", subject(id))],
        arguments: [arguments.as_slice(), &[request_id(id)]].concat(),
    })
}

/// Two windows with a key each; every admission sets the expiry.
pub fn two_key_counter(server: &Server, rate: Rate) -> Question {
    let script = include_str!("textbook/two_key_counter.lua");
    Question::script(server, "two-key counter", script, move |id| Parameters {
        keys: vec![format!("count:{}", subject(id))],
        arguments: rate.arguments().to_vec(),
    })
}

/// The same with the expiry set only by the first admission of a window.
pub fn two_key_counter_lean(server: &Server, rate: Rate) -> Question {
    let script = include_str!("textbook/two_key_counter_lean.lua");
    Question::script(server, "two-key counter, lean", script, move |id| Parameters {
        keys: vec![format!("lean:{}", subject(id))],
        arguments: rate.arguments().to_vec(),
    })
}

impl Rate {
    fn arguments(&self) -> [String; 2] {
        [self.window_ms.to_string(), self.quota.to_string()]
    }
}

/// What tells a request from all others of the same microsecond: the connection, and a number of
/// its own.
fn request_id(id: u64) -> String {
    format!("-1-{id:06}")
}
