//! What is said to a client, and what it tells.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::resp_clients::client::Client;

/// A client that has said nothing for so long never will.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// What a client was told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reply {
    Value(Value),
    Refused(String),
}

/// A running client. Ends when dropped.
pub(crate) struct Session {
    pub(crate) client: Client,
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Session {
    pub(crate) fn start(client: Client, mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a client");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).all(|line| send.send(line).is_ok());
        });
        Self { client, child, stdin, lines }
    }

    /// One command.
    pub(crate) fn ask(&mut self, command: &str) -> Reply {
        self.ask_all(&[command]).pop().expect("one reply to one command")
    }

    /// Several commands in one pipeline, where the client has such; words are separated by single
    /// spaces.
    pub(crate) fn ask_all(&mut self, commands: &[&str]) -> Vec<Reply> {
        let words = |command: &&str| command.split(' ').map(str::to_owned).collect::<Vec<_>>();
        match self.client {
            Client::RedisCli => {
                commands.iter().for_each(|command| self.write(command));
                commands.iter().map(|_| from_redis_cli(&self.read())).collect()
            }
            Client::RedisPy | Client::Ioredis => {
                self.write(&json!(commands.iter().map(words).collect::<Vec<_>>()).to_string());
                let line = self.read();
                let replies: Vec<Value> =
                    serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                replies.iter().map(from_driver).collect()
            }
        }
    }

    /// Five numbers.
    pub(crate) fn numbers(&mut self, command: &str) -> Vec<i64> {
        match self.ask(command) {
            Reply::Value(Value::Array(items)) => items.iter().filter_map(Value::as_i64).collect(),
            other => panic!("{command}: {other:?}"),
        }
    }

    /// A line that is not waited for.
    pub(crate) fn write(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").expect("the client reads");
    }

    fn read(&mut self) -> String {
        self.lines
            .recv_timeout(ANSWER_WITHIN)
            .unwrap_or_else(|error| panic!("{:?} says nothing: {error}", self.client))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// With `--json` a reply is a line of JSON, and an error a string behind a word.
fn from_redis_cli(line: &str) -> Reply {
    let (json, is_error) = line.strip_prefix("error:").map_or((line, false), |text| (text, true));
    match serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {line}")) {
        Value::String(error) if is_error => Reply::Refused(error),
        value => Reply::Value(value),
    }
}

fn from_driver(reply: &Value) -> Reply {
    match reply["error"].as_str() {
        Some(error) => Reply::Refused(error.to_owned()),
        None => Reply::Value(reply["value"].clone()),
    }
}
