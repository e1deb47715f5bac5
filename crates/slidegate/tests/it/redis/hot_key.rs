//! Eight processes with 64 connections each ask for one key, in real time, and every answer is
//! judged.
//!
//! The test program starts the processes as copies of itself. `SLIDEGATE_HOT_REQUESTS` sets the
//! number of requests.

use std::time::{Duration, Instant};

use slidegate::{Limit, Resolution};
use slidegate_testkit::cases::number;
use slidegate_testkit::process::rerun;
use slidegate_testkit::servers::{Flavour, RedisServer};

mod answers;
mod judge;
mod worker;

use answers::Answer;
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

#[test]
fn answers_of_many_processes_are_true() {
    match worker::Job::of_this_process() {
        Some(job) => job.run(),
        None => run_all(),
    }
}

fn run_all() {
    let requests = number("SLIDEGATE_HOT_REQUESTS").unwrap_or(DEFAULT_REQUESTS);
    let server = RedisServer::start(Flavour::Redis70);
    let began = Instant::now();
    // Of one process the denials are remembered. They are claims too, and judged by the same clock:
    // that of this machine.
    let processes: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let denials = if process == 0 { Denials::Cached } else { Denials::Uncached };
            let command = rerun(module_path!(), "answers_of_many_processes_are_true");
            worker::start(command, &server.url(), requests.div_ceil(PROCESSES * CONNECTIONS), denials)
        })
        .collect();
    let answers: Vec<Answer> = processes.into_iter().flat_map(worker::Worker::answers).collect();
    let took = began.elapsed();
    let counts = judge::judge(&answers);
    println!("one hot key: {counts:?} in {took:.1?}, all true");
}
