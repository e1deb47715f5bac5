//! A client as it is published, in a process of its own, which is told what to say.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;
use slidegate_testkit::program::python;

use crate::resp_clients::session::Session;
use crate::resp_clients::tools::{node, redis_cli};

/// Who talks to the service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Client {
    RedisCli,
    RedisPy,
    Ioredis,
}

pub(crate) const ALL: [Client; 3] = [Client::RedisCli, Client::RedisPy, Client::Ioredis];

/// The version of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    Two,
    Three,
}

pub(crate) const BOTH: [Protocol; 2] = [Protocol::Two, Protocol::Three];

/// How a client comes in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) at: SocketAddr,
    pub(crate) protocol: Protocol,
    pub(crate) user: Option<&'a str>,
    pub(crate) password: Option<&'a str>,
}

impl Entry<'_> {
    /// Without a password.
    pub(crate) fn of(at: SocketAddr, protocol: Protocol) -> Self {
        Self { at, protocol, user: None, password: None }
    }
}

impl Client {
    /// Lets it come in.
    pub(crate) fn enter(self, entry: Entry<'_>) -> Session {
        let mut session = Session::start(self, self.command(&entry));
        if self != Self::RedisCli {
            let protocol = entry.protocol.number();
            let Entry { at, user, password, .. } = entry;
            let options =
                json!({ "port": at.port(), "protocol": protocol, "user": user, "password": password });
            session.write(&options.to_string());
        }
        session
    }

    fn command(self, entry: &Entry<'_>) -> Command {
        let script =
            |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/external/resp_clients").join(name);
        match self {
            Self::RedisCli => {
                let mut command = redis_cli(entry.at);
                // It says there what it also answers.
                command.stderr(Stdio::null());
                command.args(["--json", entry.protocol.flag(), "--no-auth-warning"]);
                command.args(entry.user.iter().flat_map(|user| ["--user", user]));
                command.args(entry.password.iter().flat_map(|password| ["--pass", password]));
                command
            }
            Self::RedisPy => {
                let mut command = python();
                command.arg(script("redis_py.py"));
                command
            }
            Self::Ioredis => {
                let mut command = node();
                command.arg(script("ioredis.js"));
                command
            }
        }
    }

    /// How it tells an error: redis-py leaves out what it made the class of its exception from.
    pub(crate) fn tells(self, error: &str) -> String {
        match self {
            Self::RedisPy => error.trim_start_matches("ERR ").to_owned(),
            Self::RedisCli | Self::Ioredis => error.to_owned(),
        }
    }
}

impl Protocol {
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    fn flag(self) -> &'static str {
        match self {
            Self::Two => "-2",
            Self::Three => "-3",
        }
    }
}
