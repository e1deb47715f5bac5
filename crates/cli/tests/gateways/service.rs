//! The service, with the policy of the recipes.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::gateway::recipes;

const STOPS_WITHIN: Duration = Duration::from_secs(10);

/// A running `slidegate serve`. Ends when dropped.
#[derive(Debug)]
pub(crate) struct Service {
    child: Child,
    port: u16,
}

impl Service {
    /// Starts it on a free port, which it says itself.
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slidegate"))
            .arg("serve")
            .arg(recipes().join("policy.yaml"))
            .args(["--http", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("slidegate can be started");
        let stdout = child.stdout.take().expect("it is piped");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let port =
            lines.find_map(|line| port_in(&line)).expect("slidegate says where it listens before it ends");
        // What else it says is read, so that it never has to wait for a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Stops it without ending it: it accepts connections, and answers nothing from now on.
    pub(crate) fn hang(&self) {
        let process = self.child.id();
        let done = Command::new("kill").args(["-STOP", &process.to_string()]).status();
        assert!(done.is_ok_and(|status| status.success()), "a process can be stopped");
        // The signal is only on its way yet, and each thread stops for itself.
        let deadline = Instant::now() + STOPS_WITHIN;
        while !threads_of(process).iter().all(|stat| is_stopped(stat)) {
            assert!(Instant::now() < deadline, "slidegate does not stop");
            std::thread::yield_now();
        }
    }

    /// Ends it at once: its port refuses connections from now on.
    pub(crate) fn stop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
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

fn port_in(line: &str) -> Option<u16> {
    let (_, after) = line.split_once("listening on http://127.0.0.1:")?;
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    after[..end].parse().ok()
}
