//! A running `slidegate serve`.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use super::command;
use super::http::{Reply, Request};

/// What a banner ends with.
const LAST_LINE: &str = "Ctrl-C ends it.";

/// Ends when dropped.
pub(crate) struct Server {
    child: Child,
    banner: Vec<String>,
    address: SocketAddr,
    /// What it says on stderr until it ends.
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// `slidegate serve` with these arguments, on a free port, once it has said all of its banner.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let all = [&["serve", "--http", "127.0.0.1:0"], arguments].concat();
        Self::spawn(&mut command(&all))
    }

    /// The same for a command that was made by hand.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("slidegate can be started");
        let mut stderr = child.stderr.take().expect("it is piped");
        let stderr = std::thread::spawn(move || {
            let mut said = String::new();
            stderr.read_to_string(&mut said).expect("the program writes UTF-8");
            said
        });
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut banner: Vec<String> = Vec::new();
        for line in stdout.lines().map_while(Result::ok) {
            banner.push(line);
            if banner.last().is_some_and(|line| line == LAST_LINE) {
                break;
            }
        }
        let listening = banner.iter().find_map(|line| line.strip_prefix("listening on http://"));
        let Some(address) = listening.and_then(|address| address.parse().ok()) else {
            drop(child.wait());
            panic!("it does not listen: {banner:?}, {:?}", stderr.join());
        };
        Self { child, banner, address, stderr: Some(stderr) }
    }

    pub(crate) fn banner(&self) -> &[String] {
        &self.banner
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn ask(&self, request: &Request<'_>) -> Reply {
        request.send(self.address)
    }

    /// `POST /v1/check` with this body.
    pub(crate) fn check(&self, body: &str) -> Reply {
        self.ask(&Request::post("/v1/check", body))
    }

    /// Asks it to end, as the system does, and tells how it did and what it said on stderr.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status().expect("kill");
        assert!(sent.success());
        let status = self.child.wait().expect("it ends");
        let said = self.stderr.take().map(|thread| thread.join().expect("it is read"));
        (status.code(), said.unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
