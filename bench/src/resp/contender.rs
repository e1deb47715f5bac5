//! Contender: a server, its requests and its expected answers.

use super::commands::Commands;
use super::connections::{Connections, Load};
use super::replies::Expected;
use crate::http::requests::CLIENTS;
use crate::http::server::Server;
use crate::http::turns::{TakesTurns, Turn};

/// A server that is asked one kind of command.
#[derive(Debug)]
pub struct Contender<'a> {
    name: &'static str,
    server: &'a Server,
    connections: Connections,
    commands: Commands,
    expected: Expected,
    /// Factor by which its turns are shorter than those of the others.
    divisor: usize,
}

impl<'a> Contender<'a> {
    /// Connects to the server. `command` is what it is asked for a client of this address.
    pub fn new(
        name: &'static str,
        server: &'a Server,
        load: Load,
        expected: Expected,
        command: impl Fn(&str) -> String,
    ) -> Self {
        let connections = Connections::open(server.address(), load);
        let commands = Commands::pipelined(load.depth, command);
        Self { name, server, connections, commands, expected, divisor: 1 }
    }

    /// The same with shorter turns: for who is slow.
    pub fn shorter(self, divisor: usize) -> Self {
        Self { divisor, ..self }
    }

    fn ask(&mut self, at_least: usize) -> usize {
        self.connections.ask(&mut self.commands, self.expected, at_least)
    }
}

impl TakesTurns for Contender<'_> {
    fn name(&self) -> &'static str {
        self.name
    }

    /// Sends one request per client, with any reply.
    fn warm_up(&mut self) {
        self.connections.ask(&mut self.commands, self.expected.whatever(), CLIENTS as usize);
        self.ask(CLIENTS as usize);
    }

    fn turn(&mut self, at_least: usize) -> Turn {
        let server = self.server;
        Turn::timed(at_least / self.divisor, || server.cpu_at_rest(), |at_least| self.ask(at_least))
    }
}
