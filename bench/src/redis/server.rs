//! A server of our own, alone on one core.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::connection::Connection;
use crate::cores::{free_address, on_server_core};

const START_WITHIN: Duration = Duration::from_secs(10);

/// A running `redis-server` without persistence. Ends when dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
    /// State of its main thread: running or sleeping.
    stat: File,
    /// CPU time of its main thread.
    schedstat: File,
}

impl Server {
    /// Starts a server on a free port, and keeps this process off its core.
    pub fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("slidegate-bench-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
        let address = free_address();
        let child = on_server_core("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &address.port().to_string()])
            .args(["--save", "", "--appendonly", "no", "--dir"])
            .arg(&folder)
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server can be started");
        let proc = |file: &str| File::open(format!("/proc/{}/{file}", child.id())).expect("the server runs");
        let (stat, schedstat) = (proc("stat"), proc("schedstat"));
        let server = Self { child, address, folder, stat, schedstat };
        server.wait_until_up();
        server
    }

    fn wait_until_up(&self) {
        let deadline = Instant::now() + START_WITHIN;
        while Connection::open(self.address).is_err() {
            assert!(Instant::now() < deadline, "the server did not start within {START_WITHIN:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A new connection.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address).expect("the server runs")
    }

    /// URL for clients.
    pub fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// Version.
    pub fn version(&self) -> String {
        self.connect().info("server", "redis_version").expect("a server has a version")
    }

    /// Forgets all keys.
    pub fn flush(&self) {
        self.connect().run(&["FLUSHALL", "SYNC"]);
    }

    /// CPU time of its main thread, which does all the work.
    ///
    /// The kernel brings this up to date when the thread goes to sleep, so that is waited for:
    /// after its last answer the server has a few microseconds to go.
    pub fn cpu(&self) -> Duration {
        let mut buffer = [0; 512];
        while !asleep(read(&self.stat, &mut buffer)) {
            std::hint::spin_loop();
        }
        let ran_ns = read(&self.schedstat, &mut buffer).split(' ').next().and_then(|ns| ns.parse().ok());
        Duration::from_nanos(ran_ns.expect("the first field of schedstat is in nanoseconds"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, and there is nobody left to tell about a folder that stays.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn read<'a>(file: &File, buffer: &'a mut [u8]) -> &'a str {
    let length = file.read_at(buffer, 0).expect("the server runs");
    std::str::from_utf8(&buffer[..length]).expect("the kernel writes text")
}

/// Whether a process sleeps, by `/proc/<pid>/stat`: the state follows the program's name, which is
/// in brackets.
fn asleep(stat: &str) -> bool {
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('S'))
}
