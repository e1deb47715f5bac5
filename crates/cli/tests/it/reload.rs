//! A policy file that is replaced again and again while requests are answered: by rename, in place,
//! in pieces, by links, and broken.
#![cfg(unix)]

mod answers;
mod files;
mod service;

use std::time::{Duration, Instant};

use answers::{Generation, Load, judge};
use files::{Broken, Policies};
use service::Serving;

/// So many files that are right, and as many that are not or are written in pieces.
const HALF: u64 = 100;
/// Of those that are right, every so many-th is noticed without a signal.
const UNTOLD: u64 = 4;
/// So many are written in pieces.
const IN_PIECES: u64 = 12;

/// No request fails, and every answer is by a policy that was in force then: never by one that was
/// refused, or by a part of one. What was counted stays counted.
#[test]
fn two_hundred_reloads_under_load() {
    let _turn = crate::load_turn();
    let policies = Policies::new();
    let put_at = Instant::now();
    let server = Serving::start(&policies);
    let load = Load::start(server.address(), 3);
    let mut generations = vec![Generation { quota: policies.first(), put_at, active_at: put_at }];
    let mut follow = |put_at: Instant, quota: u64| {
        server.wait_for(|server| server.quota() == quota);
        generations.push(Generation { quota, put_at, active_at: Instant::now() });
    };
    for number in 1..=HALF {
        let put_at = Instant::now();
        if number <= IN_PIECES {
            follow(put_at, policies.put_in_pieces(HALF + number));
        } else {
            let before = server.refusals();
            policies.put_broken(number, Broken::ALL[(number % 4) as usize]);
            server.hang_up();
            server.wait_for(|server| server.refusals() > before);
        }
        let put_at = Instant::now();
        let quota = policies.put(number);
        if !number.is_multiple_of(UNTOLD) {
            server.hang_up();
        }
        follow(put_at, quota);
    }
    let paused = policies.paused();
    assert!(
        (paused.len() as u64) < IN_PIECES,
        "this machine is too busy to write a file within half a second"
    );
    let answers = load.stop();
    assert!(answers.len() > 1_000, "only {} requests", answers.len());
    judge(&answers, &generations, &paused);

    let log = server.end();
    assert!(log.matches("keeping the previous policy").count() as u64 >= HALF - IN_PIECES, "{log}");
    let changed = |quota: u64| format!("-> {quota}/day");
    let count = generations[1..].iter().filter(|one| log.contains(&changed(one.quota))).count();
    assert_eq!(count, generations.len() - 1, "every change is told");
    assert!(!log.contains(files::SECRET), "secrets are not told");
    println!("{} requests, {} files in pieces with a pause", answers.len(), paused.len());
}

/// What is wrong is told once, with its place, and neither it nor a signal ends the service.
#[test]
fn a_broken_file_is_reported_once() {
    let policies = Policies::new();
    let first = policies.first();
    let server = Serving::start(&policies);
    policies.put_broken(1, Broken::Field);
    server.wait_for(|server| server.refusals() == 1);
    let start = Instant::now();
    // For as long as it takes to look several times.
    while start.elapsed() < Duration::from_secs(2) {
        assert_eq!((server.refusals(), server.quota()), (1, first));
    }
    server.hang_up();
    server.wait_for(|server| server.refusals() == 2);
    std::fs::remove_file(policies.path()).expect("removed");
    server.wait_for(|server| server.refusals() == 3);
    let quota = policies.put(2);
    server.wait_for(|server| server.quota() == quota);
    let log = server.end();
    let place = format!("{}:{}:1: unknown field `colour`", policies.path().display(), files::line_of(1));
    assert_eq!(log.matches(&place).count(), 2, "{log}");
    assert!(log.contains("cannot be read: there is no such file"), "{log}");
}

#[test]
fn without_a_file_a_signal_says_so() {
    let server = Serving::without_a_file();
    server.hang_up();
    server.wait_for(|server| server.log().contains("was not read from a file"));
    assert!(server.quota() > 0, "it still answers");
    server.end();
}
