//! Redis and Valkey servers on loopback, which tests stop, kill and fail over; they end with the
//! test.
//!
//! `scripts/test` installs the programs. Nothing here needs a runtime: calls block, and panic if a
//! server is not as it should be.

use std::thread;
use std::time::{Duration, Instant};

mod cluster;
mod flavour;
mod guarded;
mod link;
mod migration;
mod ports;
mod proxy;
mod resp;
mod sentinel;
mod server;
mod tls;
mod view;

pub use cluster::Cluster;
pub use flavour::Flavour;
pub use guarded::Guarded;
pub use migration::Migration;
pub use ports::free_port;
pub use proxy::{AfterDrop, Counts, Proxy};
pub use resp::RespReply;
pub use sentinel::Sentinels;
pub use server::RedisServer;
pub use tls::{ClientCertificates, TlsServer};

/// Longest wait for anything here, more than it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is an answer. It comes from another process, so that nothing can wake this
/// one.
pub fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match answer() {
            Ok(answer) => return answer,
            Err(why) => assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}: {why}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}
