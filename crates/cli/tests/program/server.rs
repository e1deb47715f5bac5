//! A running `slidegate serve`.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::command;
use super::http::{Reply, Request};

/// What a banner ends with.
const LAST_LINE: &str = "Press Ctrl-C to stop.";
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// Ends when dropped.
pub(crate) struct Server {
    child: Child,
    banner: Vec<String>,
    scheme: String,
    address: SocketAddr,
    /// What it says on stderr until it ends.
    stderr: Option<JoinHandle<String>>,
}

impl Server {
    /// `slidegate serve` with these arguments, on a free port, once it has said all of its banner.
    pub(crate) fn start(arguments: &[&str]) -> Self {
        // The built-in example has a listener for operators, and several servers run at once.
        let admin: &[&str] = if arguments.contains(&"--admin") { &[] } else { &["--admin", "127.0.0.1:0"] };
        let all = [&["serve", "--http", "127.0.0.1:0"], admin, arguments].concat();
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
        let listening = banner.iter().find_map(|line| line.strip_prefix("listening on ")?.split_once("://"));
        let parsed = listening.and_then(|(scheme, address)| Some((scheme.to_owned(), address.parse().ok()?)));
        let Some((scheme, address)) = parsed else {
            drop(child.wait());
            panic!("it does not listen: {banner:?}, {:?}", stderr.join());
        };
        Self { child, banner, scheme, address, stderr: Some(stderr) }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn banner(&self) -> &[String] {
        &self.banner
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// Where operators come in, if they do.
    pub(crate) fn admin_url(&self) -> Option<String> {
        self.banner.iter().find_map(|line| line.strip_prefix("admin:  ").map(str::to_owned))
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        let url = self.admin_url().expect("an admin listener");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    /// Where Envoy asks, if it may.
    pub(crate) fn grpc(&self) -> SocketAddr {
        let url = self.banner.iter().find_map(|line| line.strip_prefix("grpc:   ")).expect("a gRPC listener");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    /// Where the protocol of Redis is spoken, with TLS or without.
    pub(crate) fn resp(&self) -> SocketAddr {
        let url =
            self.banner.iter().find_map(|line| line.strip_prefix("resp:   ")).expect("a listener for RESP");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    pub(crate) fn ask(&self, request: &Request<'_>) -> Reply {
        request.send(self.address)
    }

    /// `POST /v1/check` with this body.
    pub(crate) fn check(&self, body: &str) -> Reply {
        self.ask(&Request::post("/v1/check", body))
    }

    /// Sends it a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Stops it without ending it: it accepts connections, and answers nothing from now on.
    pub(crate) fn hang(&self) {
        self.signal("STOP");
        // The signal is only on its way yet, and each thread stops for itself.
        let deadline = Instant::now() + STOPS_WITHIN;
        while !threads_of(self.id()).iter().all(|stat| is_stopped(stat)) {
            assert!(Instant::now() < deadline, "slidegate does not stop");
            std::thread::yield_now();
        }
    }

    /// Waits until it has ended, and tells how.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// Ends it at once: it gets no chance to do anything more.
    pub(crate) fn kill(mut self) {
        self.stop();
    }

    /// Ends it at once: its ports refuse connections from now on.
    pub(crate) fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end, as the system does, and tells how it did and what it said on stderr.
    pub(crate) fn terminate(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let code = self.ended();
        let said = self.stderr.take().map(|thread| thread.join().expect("it is read"));
        (code, said.unwrap_or_default())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the kernel says of each thread, in a line.
fn threads_of(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("slidegate runs");
    threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()).collect()
}

/// The state follows the program's name, which is in brackets.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}
