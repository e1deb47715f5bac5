//! Eight processes with 64 connections each ask for one key, in real time, and every answer is judged.
//!
//! This program starts the processes as copies of itself. `SLIDEGATE_HOT_REQUESTS` sets how many requests there are.

use std::time::{Duration, Instant};

use slidegate::{Limit, Resolution};

#[path = "redis_hot_key/answers.rs"]
mod answers;
#[path = "cases/mod.rs"]
mod cases;
#[path = "redis_hot_key/judge.rs"]
mod judge;
mod servers;
#[path = "redis_hot_key/worker.rs"]
mod worker;

use answers::Answer;
use servers::{Flavour, Server};
use worker::Denials;

const PROCESSES: u64 = 8;
const CONNECTIONS: u64 = 64;
const DEFAULT_REQUESTS: u64 = 50_000;
const QUOTA: u64 = 200;
const WINDOW_MS: u64 = 100;

/// Ten times less than what one server decides, so that most are refused.
fn limit() -> Limit {
    let log = Limit::new(QUOTA, Duration::from_millis(WINDOW_MS)).expect("a limit");
    log.resolution(Resolution::Ms(1)).expect("every millisecond by itself")
}

fn main() {
    match worker::Errand::of_this_process() {
        Some(errand) => errand.run(),
        None => test(),
    }
}

fn test() {
    let requests = cases::number("SLIDEGATE_HOT_REQUESTS").unwrap_or(DEFAULT_REQUESTS);
    let server = Server::start(Flavour::Redis70);
    let began = Instant::now();
    // Of one process the denials are remembered. They are claims too, and judged by the same clock: that of this machine.
    let processes: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let denials = if process == 0 { Denials::Remembered } else { Denials::Asked };
            worker::start(&server.url(), requests.div_ceil(PROCESSES * CONNECTIONS), denials)
        })
        .collect();
    let answers: Vec<Answer> = processes.into_iter().flat_map(worker::Worker::answers).collect();
    let took = began.elapsed();
    let counts = judge::judge(&answers);
    println!("one hot key: {counts:?} in {took:.1?}, all true");
}
