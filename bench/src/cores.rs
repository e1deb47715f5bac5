//! Two cores: one for the server that is measured, one for this process.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SERVER_CORE: &str = "0";
const OUR_CORE: &str = "1";
/// Both cores.
pub const CORES: [&str; 2] = [SERVER_CORE, OUR_CORE];

/// A program that will run on the server's core, and end with this process even if that is killed.
/// This process is kept off that core, where there are two and `taskset` is at hand.
pub fn on_server_core(program: impl AsRef<Path>) -> Command {
    let program = program.as_ref();
    if !keep_to_our_core() {
        eprintln!("the server has no core of its own: figures will be noisy");
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "taskset", "--cpu-list", SERVER_CORE]).arg(program);
    command
}

/// Moves this process to its core; says whether that could be done.
fn keep_to_our_core() -> bool {
    let this = std::process::id().to_string();
    let moved = Command::new("taskset")
        .args(["--cpu-list", "--pid", OUR_CORE, &this])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    moved.is_ok_and(|status| status.success())
}

/// An address where nobody listens yet.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("some port is free");
    listener.local_addr().expect("a listener has an address")
}

/// A program that was built beside this one.
///
/// # Panics
/// If this program has no path.
pub fn beside_us(name: &str) -> PathBuf {
    std::env::current_exe().expect("this program has a path").with_file_name(name)
}
