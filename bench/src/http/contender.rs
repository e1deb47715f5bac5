//! Contender: a server, its requests and its expected answers.

use super::answer::Expected;
use super::connections::{Connections, check_status};
use super::requests::{CLIENTS, Requests};
use super::server::Server;
use super::turns::{TakesTurns, Turn};

/// A server that is asked one kind of request.
#[derive(Debug)]
pub struct Contender<'a> {
    name: &'static str,
    server: &'a Server,
    connections: Connections,
    requests: Requests,
    expected: Expected,
}

impl<'a> Contender<'a> {
    /// Connects to the server.
    pub fn new(name: &'static str, server: &'a Server, requests: Requests, expected: Expected) -> Self {
        Self { name, server, connections: Connections::open(server.address()), requests, expected }
    }
}

impl TakesTurns for Contender<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Sends one request per client with any answer, then checks as many answers closely.
    fn warm_up(&mut self) {
        let Self { name, connections, requests, expected, .. } = self;
        connections.ask(requests, CLIENTS as usize, |_| {});
        connections.ask(requests, CLIENTS as usize, |answer| {
            check_status(answer, *expected);
            let says = String::from_utf8_lossy(answer).contains(expected.says);
            assert!(says, "{name} says: {}", answer.escape_ascii());
        });
    }

    fn turn(&mut self, at_least: usize) -> Turn {
        let expected = self.expected;
        let ask = |at_least| {
            self.connections.ask(&mut self.requests, at_least, |answer| check_status(answer, expected))
        };
        Turn::timed(at_least, || self.server.cpu(), ask)
    }
}
