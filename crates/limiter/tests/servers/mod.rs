//! Real servers for tests: started on loopback, stopped, killed and failed over on purpose, and gone when the test ends.
//!
//! `scripts/test` installs the programs. Nothing here needs a runtime; calls block, and fail the test if a server is not as it should be.
#![allow(dead_code, unused_imports, reason = "every test uses a part of it")]

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

pub(crate) use cluster::Cluster;
pub(crate) use flavour::Flavour;
pub(crate) use guarded::Guarded;
pub(crate) use migration::Migration;
pub(crate) use proxy::{AfterDrop, Counts, Proxy};
pub(crate) use resp::Reply;
pub(crate) use sentinel::Sentinels;
pub(crate) use server::Server;
pub(crate) use tls::{ClientCertificates, Pem, TlsServer};

/// More than anything here takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again until there is an answer. Another process is waited for, so there is nothing to be woken by.
pub(crate) fn wait_for<T>(what: &str, mut answer: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match answer() {
            Ok(answer) => return answer,
            Err(why) => assert!(began.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}: {why}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}
