//! Contender: a server, its requests and its expected answers.

use prost::Message;

use super::connections::Connections;
use super::messages::{RateLimitRequest, RateLimitResponse};
use crate::http::requests::{CLIENTS, Requests, address};
use crate::http::server::Server;
use crate::http::turns::{TakesTurns, Turn};

/// A server that is asked one kind of call.
#[derive(Debug)]
pub struct Contender<'a> {
    name: &'static str,
    server: &'a Server,
    connections: Connections,
    requests: Requests,
    code: i32,
}

impl<'a> Contender<'a> {
    /// Connects to the server, which is asked about a path and has to answer with a code.
    pub fn new(name: &'static str, server: &'a Server, path: &str, code: i32) -> Self {
        let requests = Requests::of(|client| RateLimitRequest::new(path, address(client)).framed());
        Self { name, server, connections: Connections::open(server.address()), requests, code }
    }
}

impl TakesTurns for Contender<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Sends one request per client with any answer, then checks as many answers closely.
    fn warm_up(&mut self) {
        let Self { name, connections, requests, code, .. } = self;
        connections.ask(requests, CLIENTS as usize, |_| {});
        connections.ask(requests, CLIENTS as usize, |message| {
            let answer = RateLimitResponse::decode(message).expect("a message");
            let codes: Vec<i32> = answer.statuses.iter().map(|status| status.code).collect();
            assert_eq!((answer.overall_code, &codes[..]), (*code, &[*code][..]), "{name} says: {answer:?}");
        });
    }

    fn turn(&mut self, at_least: usize) -> Turn {
        // The code comes first in the message, after the number of its field.
        let expected = [8, u8::try_from(self.code).expect("codes are small")];
        let ask = |at_least| {
            self.connections.ask(&mut self.requests, at_least, |message| {
                assert!(message.starts_with(&expected), "unexpected: {}", message.escape_ascii());
            })
        };
        Turn::timed(at_least, || self.server.cpu(), ask)
    }
}
