//! The programs that the tests did not bring along.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// redis-cli, which will ask there.
pub(crate) fn redis_cli(at: SocketAddr) -> Command {
    let mut command = Command::new(tool("SLIDEGATE_REDIS_CLI"));
    command.args(["-p", &at.port().to_string()]);
    command
}

/// Node.js, which finds ioredis.
pub(crate) fn node() -> Command {
    let mut command = Command::new(tool("SLIDEGATE_NODE"));
    command.env("NODE_PATH", ioredis_modules());
    command
}

/// The folder in which Node.js finds ioredis.
pub(crate) fn ioredis_modules() -> PathBuf {
    Path::new(&tool("SLIDEGATE_IOREDIS")).join("node_modules")
}

/// Where a program is that the tests did not bring along.
pub(crate) fn tool(variable: &str) -> OsString {
    let Some(path) = std::env::var_os(variable) else {
        panic!(
            "{variable} is not set: scripts/test installs what it names (need_redis_clients in scripts/lib.sh)"
        );
    };
    path
}
