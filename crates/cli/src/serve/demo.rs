//! `slidegate serve --demo`: a made-up population that asks a server over HTTP, so that there is something to see.

mod client;
mod workload;

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{MissedTickBehavior, interval};

use client::Caller;
use workload::Population;

/// The rules that it runs into.
pub(crate) const POLICY: &str = include_str!("demo/policy.yaml");

/// Every run is the same.
const SEED: u64 = 7;
/// How many connections it has.
const CALLERS: usize = 4;

/// Asks the server at an address until it is dropped. What comes late is left out: a machine that stalls is not asked for what it missed.
pub(super) async fn run(server: SocketAddr, token: Option<String>) {
    let mut population = Population::new(SEED);
    let mut callers: Vec<Caller> = (0..CALLERS).map(|_| Caller::new(server, token.as_deref())).collect();
    let mut ticks = interval(Duration::from_millis(workload::TICK_MS));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        let calls = population.next();
        let share = calls.len().div_ceil(CALLERS).max(1);
        let asked = callers.iter_mut().zip(calls.chunks(share)).map(|(caller, calls)| caller.ask(calls));
        join_all(asked).await;
    }
}
