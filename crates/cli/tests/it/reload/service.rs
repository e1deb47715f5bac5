//! The program, with what it says in a file that can be read meanwhile.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use slidegate_testkit::program::{HttpRequest, ServerProcess, command};

use crate::reload::files::Policies;

pub(crate) struct Serving {
    server: ServerProcess,
    log: tempfile::NamedTempFile,
}

impl Serving {
    pub(crate) fn start(policies: &Policies) -> Self {
        Self::spawn(&command(&["serve", policies.path().to_str().expect("UTF-8"), "--http", "127.0.0.1:0"]))
    }

    pub(crate) fn without_a_file() -> Self {
        Self::spawn(&command(&["serve", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0"]))
    }

    fn spawn(command: &Command) -> Self {
        let log = tempfile::NamedTempFile::new().expect("a file");
        // A shell, since the harness reads what the program says only when it has ended.
        let mut shell = Command::new("sh");
        shell.args(["-c", "log=$1; shift; exec \"$@\" 2>>\"$log\"", "sh"]).arg(log.path());
        shell.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        Self { server: ServerProcess::spawn(&mut shell), log }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn hang_up(&self) {
        let sent = Command::new("kill").args(["-HUP", &self.server.id().to_string()]).status().expect("kill");
        assert!(sent.success());
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log.path()).expect("UTF-8")
    }

    /// How many files it has refused.
    pub(crate) fn refusals(&self) -> usize {
        self.log().matches("keeping the previous policy").count()
    }

    /// The quota of the policy in force, without using any of it. 0: no rule applies.
    pub(crate) fn quota(&self) -> u64 {
        let body = r#"{"attributes":{"ip":"203.0.113.7","method":"POST","path":"/login"},"cost":0}"#;
        let reply = self.server.ask(&HttpRequest::post("/v1/check", body));
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.json()["limits"][0]["quota"].as_u64().unwrap_or(0)
    }

    /// Looks until it is so: within a second or two, usually.
    pub(crate) fn wait_for(&self, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < Duration::from_secs(20), "{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, and tells what it said.
    pub(crate) fn end(self) -> String {
        let (code, _) = self.server.terminate();
        assert_eq!(code, Some(0));
        fs::read_to_string(self.log.path()).expect("UTF-8")
    }
}
