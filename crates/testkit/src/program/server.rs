//! Running `slidegate serve`.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::command;
use super::http::{HttpReply, HttpRequest};

/// Last line of the banner.
const LAST_LINE: &str = "Press Ctrl-C to stop.";
const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// Process of a server, killed on drop.
pub struct ServerProcess {
    child: Child,
    banner: Vec<String>,
    scheme: String,
    address: SocketAddr,
    /// Reader of its stderr until it ends.
    stderr: Option<JoinHandle<String>>,
}

impl ServerProcess {
    /// `slidegate serve` with these arguments, on a free port, once it has printed its banner.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(arguments: &[&str]) -> Self {
        // The built-in example has a listener for operators, and several servers run at once.
        let admin: &[&str] = if arguments.contains(&"--admin") { &[] } else { &["--admin", "127.0.0.1:0"] };
        let all = [&["serve", "--http", "127.0.0.1:0"], admin, arguments].concat();
        Self::spawn(&mut command(&all))
    }

    /// [`Self::start`] for a complete command.
    ///
    /// # Panics
    /// If it does not start.
    pub fn spawn(command: &mut Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("slidegate can be started");
        let mut stderr = child.stderr.take().expect("it is piped");
        let stderr = std::thread::spawn(move || {
            let mut log = String::new();
            stderr.read_to_string(&mut log).expect("the program writes UTF-8");
            log
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

    /// Process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Lines of the banner.
    pub fn banner(&self) -> &[String] {
        &self.banner
    }

    /// Address of the HTTP listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of the HTTP listener.
    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.address)
    }

    /// URL of the admin listener, if there is one.
    pub fn admin_url(&self) -> Option<String> {
        self.banner.iter().find_map(|line| line.strip_prefix("admin:  ").map(str::to_owned))
    }

    /// Address of the admin listener.
    ///
    /// # Panics
    /// If there is none.
    pub fn admin(&self) -> SocketAddr {
        let url = self.admin_url().expect("an admin listener");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    /// Address of the gRPC listener.
    ///
    /// # Panics
    /// If there is none.
    pub fn grpc(&self) -> SocketAddr {
        let url = self.banner.iter().find_map(|line| line.strip_prefix("grpc:   ")).expect("a gRPC listener");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    /// Address of the RESP listener, with TLS or without.
    ///
    /// # Panics
    /// If there is none.
    pub fn resp(&self) -> SocketAddr {
        let url =
            self.banner.iter().find_map(|line| line.strip_prefix("resp:   ")).expect("a listener for RESP");
        url.split_once("://").and_then(|(_, address)| address.parse().ok()).expect("an address")
    }

    /// Sends a request to the HTTP listener.
    pub fn ask(&self, request: &HttpRequest<'_>) -> HttpReply {
        request.send(self.address)
    }

    /// `POST /v1/check` with this body.
    pub fn check(&self, body: &str) -> HttpReply {
        self.ask(&HttpRequest::post("/v1/check", body))
    }

    /// Sends a signal by its name.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.expect("kill").success());
    }

    /// Suspends the process: the kernel accepts connections, and nothing is answered.
    ///
    /// # Panics
    /// If the process does not stop.
    pub fn hang(&self) {
        self.signal("STOP");
        // The signal is only on its way yet, and each thread stops for itself.
        let deadline = Instant::now() + STOPS_WITHIN;
        while !threads_of(self.id()).iter().all(|stat| is_stopped(stat)) {
            assert!(Instant::now() < deadline, "slidegate does not stop");
            std::thread::yield_now();
        }
    }

    /// Waits for the end of the process; its exit code.
    ///
    /// # Panics
    /// If the process cannot be waited for.
    pub fn ended(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }

    /// [`Self::stop`], by value.
    pub fn kill(mut self) {
        self.stop();
    }

    /// Kills the process: its ports refuse connections from now on.
    ///
    /// # Panics
    /// If the process has ended already.
    pub fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Ends the process with SIGTERM; its exit code and stderr.
    ///
    /// # Panics
    /// If the signal cannot be sent.
    pub fn terminate(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        let code = self.ended();
        let log = self.stderr.take().map(|thread| thread.join().expect("it is read"));
        (code, log.unwrap_or_default())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The `stat` line of each thread.
fn threads_of(process: u32) -> Vec<String> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("slidegate runs");
    threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok()).collect()
}

/// The state follows the program's name, which is in brackets.
fn is_stopped(stat: &str) -> bool {
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}
