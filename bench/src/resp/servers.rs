//! The servers that are compared.

use std::path::Path;

use crate::http::policy;
use crate::http::server::{Server, beside_us};

/// A connection waits while all the others have their turns, which takes long on a machine that is
/// busy.
const PATIENT: &str = "server: { connections: { idle_timeout: 1h } }\n";

/// Our service with the rules of a policy.
pub fn slidegate(policy: &str) -> Server {
    let file = policy::file(&format!("{policy}{PATIENT}"));
    Server::start(&beside_us("slidegate"), |command, address| {
        command.args(["serve", "-", "--http", "127.0.0.1:0", "--resp", &address.to_string()]).stdin(file);
    })
}

/// Redis without persistence.
pub fn redis() -> Server {
    Server::start(Path::new("redis-server"), |command, address| {
        command.args(["--bind", "127.0.0.1", "--port", &address.port().to_string()]);
        command.args(["--save", "", "--appendonly", "no"]);
    })
}

/// throttlecrab's service on its best store, as `cargo install` makes it.
pub fn throttlecrab() -> Server {
    Server::start(Path::new("throttlecrab-server"), |command, address| {
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        command.args(["--redis", "--redis-host", &host, "--redis-port", &port]);
        command.args(["--store", "adaptive", "--log-level", "error"]);
    })
}
