//! `slidegate serve --demo`: simulated clients that send requests over HTTP, for the console.

mod client;
mod workload;

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use client::DemoClient;
use workload::Workload;

/// Policy of the demo.
pub(crate) const POLICY: &str = include_str!("demo/policy.yaml");

/// Seed of the workload: every run is the same.
const SEED: u64 = 7;
/// Number of connections.
const CLIENTS: usize = 4;

/// Sends the workload to a server until it is dropped. After a stall it skips the missed ticks.
pub(super) async fn run(server: SocketAddr, token: Option<String>) {
    let mut workload = Workload::new(SEED);
    let mut clients: Vec<DemoClient> =
        (0..CLIENTS).map(|_| DemoClient::new(server, token.as_deref())).collect();
    let mut ticks = interval(Duration::from_millis(workload::TICK_MS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let requests = workload.next();
        let share = requests.len().div_ceil(CLIENTS).max(1);
        let pairs = clients.iter_mut().zip(requests.chunks(share));
        join_all(pairs.map(|(client, requests)| client.send_all(requests))).await;
    }
}
