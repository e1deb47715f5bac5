//! A service of ours or of others, on the server's core.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub use crate::cores::beside_us;
use crate::cores::{free_address, on_server_core};

const START_WITHIN: Duration = Duration::from_secs(20);

/// A running service. Ends when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts a program; `arguments` adds its arguments, including its address.
    pub fn start(program: &Path, arguments: impl FnOnce(&mut Command, SocketAddr)) -> Self {
        let address = free_address();
        let mut command = on_server_core(program);
        // Its log is written, as it would be, but does not stand between the figures.
        let log = tempfile::tempfile().expect("a temporary file can be made");
        let stderr = log.try_clone().expect("a file can be had twice");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        arguments(&mut command, address);
        let child = command.spawn();
        let child = child.unwrap_or_else(|error| panic!("{} cannot be started: {error}", program.display()));
        let mut server = Self { child, address };
        server.wait_until_up(program, log);
        server
    }

    fn wait_until_up(&mut self, program: &Path, log: File) {
        let deadline = Instant::now() + START_WITHIN;
        while TcpStream::connect(self.address).is_err() {
            let ended = self.child.try_wait().expect("a child can be asked for its state");
            if ended.is_some() || Instant::now() >= deadline {
                panic!("{} does not listen ({ended:?}); it said:\n{}", program.display(), all_of(log));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// CPU time of its threads, by the scheduler.
    pub fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("the server runs");
        let ran_ns = tasks.filter_map(|task| {
            let schedstat = fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
            schedstat.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(ran_ns.sum())
    }

    /// The same once none of its threads runs: until then the scheduler's books are behind by up to
    /// a tick.
    pub fn cpu_at_rest(&self) -> Duration {
        while self.is_running() {
            std::hint::spin_loop();
        }
        self.cpu()
    }

    fn is_running(&self) -> bool {
        let mut tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("the server runs");
        tasks.any(|task| {
            let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat"))).unwrap_or_default();
            // The state follows the program's name, which is in brackets.
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('R'))
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Contents of a file, from its beginning.
fn all_of(mut file: File) -> String {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).expect("the file can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
