//! Process of a Redis or Valkey server.

use std::fs::{self, File};
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::resp::Wire;
use super::{Flavour, RespReply, ports, wait_for};

/// Role in which the program is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Data,
    Sentinel,
}

/// Result of starting a process.
enum StartOutcome {
    Answers,
    Ended,
}

/// Server on loopback without persistence. It is killed on drop, so that it belongs in a variable,
/// not in a static.
pub struct RedisServer {
    flavour: Flavour,
    role: Role,
    args: Vec<String>,
    port: u16,
    directory: TempDir,
    child: Option<Child>,
    stopped: AtomicBool,
}

impl RedisServer {
    /// Starts a server, and returns when it answers.
    pub fn start(flavour: Flavour) -> Self {
        Self::start_with(flavour, &[])
    }

    /// [`Self::start`] with more arguments, such as `&["--maxmemory", "1mb"]`.
    pub fn start_with(flavour: Flavour, args: &[&str]) -> Self {
        Self::start_as(Role::Data, flavour, args)
    }

    pub(super) fn start_as(role: Role, flavour: Flavour, args: &[&str]) -> Self {
        let mut server = Self {
            flavour,
            role,
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            port: 0,
            directory: TempDir::with_prefix("slidegate-server-").expect("a directory"),
            child: None,
            stopped: AtomicBool::new(false),
        };
        // Between looking for a free port and taking it somebody else may have taken it.
        for _ in 0..5 {
            server.port = ports::free_port();
            match server.launch() {
                Err(log) if log.contains("already in use") => {}
                done => {
                    done.unwrap_or_else(|log| panic!("{flavour:?} does not start:\n{log}"));
                    return server;
                }
            }
        }
        panic!("{flavour:?} found no port");
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// URL, with the password of the default user if it has one.
    pub fn url(&self) -> String {
        let login = self.password().map(|password| format!(":{password}@")).unwrap_or_default();
        format!("redis://{login}127.0.0.1:{}", self.port)
    }

    /// Whether the process runs and is not stopped.
    pub fn is_up(&self) -> bool {
        self.child.is_some() && !self.stopped.load(Ordering::SeqCst)
    }

    /// Suspends the process with its connections open, as behind a network that drops everything.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.signal(Signal::STOP);
    }

    /// Resumes the process, which then reads what arrived meanwhile.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
        self.stopped.store(false, Ordering::SeqCst);
    }

    /// Kills the process without notice to its peers.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.stopped.store(false, Ordering::SeqCst);
        child.kill().and_then(|()| child.wait()).expect("a process that can be killed");
    }

    /// Starts the server again on the same port, empty.
    pub fn restart(&mut self) {
        self.kill();
        self.launch().unwrap_or_else(|log| panic!("{:?} does not start again:\n{log}", self.flavour));
    }

    /// Sends a command on a connection of its own. The reply may be an error; no reply fails the
    /// test.
    pub fn command<A: AsRef<[u8]>>(&self, words: &[A]) -> RespReply {
        self.try_command(words).unwrap_or_else(|error| panic!("{:?} on {}: {error}", self.flavour, self.port))
    }

    /// [`Self::command`] to a server that may be down.
    pub fn try_command<A: AsRef<[u8]>>(&self, words: &[A]) -> io::Result<RespReply> {
        self.connect()?.call(words)
    }

    /// Sends a command that writes. Returns when a replica has the write too, so that it survives
    /// this server.
    pub fn replicated<A: AsRef<[u8]>>(&self, words: &[A]) -> RespReply {
        // WAIT is about the writes of its own connection.
        let mut wire = self.connect().expect("a server that is up");
        let reply = wire.call(words).expect("a reply");
        assert_eq!(wire.call(&["WAIT", "1", "4000"]).expect("a reply"), RespReply::Int(1), "replicas");
        reply
    }

    /// Sends a command whose reply has to be OK.
    pub fn must<A: AsRef<[u8]>>(&self, words: &[A]) {
        let command =
            || words.iter().map(|word| String::from_utf8_lossy(word.as_ref())).collect::<Vec<_>>().join(" ");
        assert_eq!(self.command(words), RespReply::Simple("OK".to_owned()), "{}", command());
    }

    /// Field of INFO.
    pub fn info(&self, field: &str) -> Option<String> {
        field_of(&self.command(&["INFO"]).text(), field)
    }

    fn connect(&self) -> io::Result<Wire> {
        let mut wire = Wire::connect(self.port)?;
        if let Some(password) = self.password() {
            wire.call(&["AUTH", password])?;
        }
        Ok(wire)
    }

    fn password(&self) -> Option<&str> {
        self.args.windows(2).find(|pair| pair[0] == "--requirepass").map(|pair| pair[1].as_str())
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("a server that runs");
        kill_process(Pid::from_child(child), signal).expect("a signal that can be sent");
    }

    /// Starts the process, and waits until it answers. The error is its log, if it ended instead.
    fn launch(&mut self) -> Result<(), String> {
        let log = self.directory.path().join("log");
        let output = File::create(&log).expect("a log");
        let mut command = Command::new(self.flavour.program());
        if self.role == Role::Sentinel {
            // A sentinel keeps what it knows in its configuration, so it wants a file that it can
            // write.
            File::options()
                .create(true)
                .append(true)
                .open(self.directory.path().join("conf"))
                .expect("a file");
            command.args(["conf", "--sentinel"]);
        }
        command.args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--daemonize", "no"]);
        command.args(["--save", "", "--appendonly", "no", "--loglevel", "warning"]).args(&self.args);
        command.current_dir(&self.directory).stdin(Stdio::null());
        command.stderr(output.try_clone().expect("a log")).stdout(output);
        self.child = Some(command.spawn().expect("a program that can be run"));
        match wait_for("a server that answers", || self.outcome()) {
            StartOutcome::Answers => Ok(()),
            StartOutcome::Ended => Err(fs::read_to_string(&log).expect("a log")),
        }
    }

    fn outcome(&mut self) -> Result<StartOutcome, String> {
        let child = self.child.as_mut().expect("a process");
        if child.try_wait().expect("a process").is_some() {
            self.child = None;
            return Ok(StartOutcome::Ended);
        }
        match self.try_command(&["PING"]) {
            Ok(RespReply::Simple(_)) => Ok(StartOutcome::Answers),
            other => Err(format!("{other:?}")),
        }
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Value of a line `field:value`, the format of INFO and CLUSTER INFO.
pub(super) fn field_of(text: &str, field: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(name, _)| *name == field).map(|(_, value)| value.to_owned())
}
