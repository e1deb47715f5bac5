//! How a log keeps its entries is invisible: large counts, stamps far apart, many entries, all come
//! back as they went in.

use std::time::Duration;

use slidegate_core::{Limit, Log, LogEntry, Resolution, State};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::oracle::Oracle;
use crate::run::{Run, peek};
use crate::trace::{DAY_MS, Step, Trace, start_ms};

const NARROW_MS: u64 = 1 << 32;

/// Limits and traffic about the places where the narrow form ends: counts of 16 bits, offsets of
/// 32.
fn about_the_edges(rng: &Rng) -> Trace {
    let quota = rng.pick(&[20, 70_000, 1 << 18, 1 << 40]);
    let window_ms = rng.pick(&[1_000, 50 * DAY_MS, 100 * DAY_MS, 1_000 * DAY_MS]);
    let limit = Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
    let limit = limit.resolution(Resolution::Ms(rng.pick(&[1, 1_000.min(window_ms)]))).unwrap_or(limit);
    let step = |_| {
        let of = rng.below(64) as usize;
        let cost = rng.pick(&[1, 2, 65_534, 65_535, 65_536, quota / 3]).min(quota);
        let far_ms = NARROW_MS - 2 + rng.below(4);
        let waits = [0, 1, 500, window_ms / 9, far_ms.min(window_ms), rng.below(window_ms)];
        match rng.below(8) {
            0 => Step::GiveBack { units: rng.pick(&[1, 3, 65_535, 65_536, cost]) },
            1 => Step::Settle { of, cost: rng.pick(&[0, 1, 65_535, 65_536, cost]) },
            _ => Step::Check { after_ms: rng.pick(&waits), cost },
        }
    };
    ((limit, start_ms(rng, &limit)), (0..rng.between(5, 40)).map(step).collect())
}

#[test]
fn the_layout_is_invisible() {
    prove(about_the_edges, |&(limit, start_ms), steps| {
        let (mut run, mut oracle, mut spent) = (Run::new(limit, start_ms), Oracle::default(), Vec::new());
        for step in steps {
            let id = run.admitted.len() as u64;
            match *step {
                Step::Settle { of, cost } => {
                    let Some(index) = of.checked_rem(run.admitted.len()) else { continue };
                    if !spent.contains(&index) {
                        run.settle(index, cost);
                        oracle.settle(&limit, &run.admitted[index].receipt, cost, run.now_ms());
                        spent.push(index);
                    }
                }
                Step::Check { cost, .. } => {
                    let decision = run.apply(step);
                    let right = oracle.decide(&limit, cost, run.now_ms(), id);
                    ensure!(decision == Some(right), "{step:?}: {decision:?}, not {right:?}");
                }
                Step::GiveBack { units } => {
                    let (actual, right) = (run.apply(step), oracle.give_back(&limit, units, run.now_ms()));
                    ensure!(actual == Some(right), "{step:?}: {actual:?}, not {right:?}");
                }
                _ => {}
            }
            same_entries(&mut run, &mut oracle)?;
        }
        Ok(())
    });
}

fn same_entries(run: &mut Run, oracle: &mut Oracle) -> Result<(), String> {
    run.peek();
    oracle.peek(&run.limit, run.now_ms());
    let State::Log(log) = &run.state else { return Err("another kind".to_owned()) };
    let (entries, right) = (pairs(log), oracle.entries());
    ensure!(entries == right, "{entries:?}, not {right:?}");
    // The same history from its parts behaves alike and says the same.
    let copy = Log::from_entries(log.last_ms(), log.entries());
    ensure!(pairs(&copy) == right && copy.last_ms() == log.last_ms(), "a copy has {copy:?}");
    let standing = peek(&mut State::Log(copy), &run.limit, run.now_ms());
    ensure!(standing == run.peek(), "a copy stands at {standing:?}");
    Ok(())
}

fn pairs(log: &Log) -> Vec<(u64, u64)> {
    log.entries().map(|entry| (entry.stamp_ms, entry.count)).collect()
}

#[test]
fn parts_out_of_order_or_empty_are_sorted() {
    let entry = |stamp_ms, count| LogEntry { stamp_ms, count };
    let log =
        Log::from_entries(9, [entry(5, 0), entry(7, 2), entry(6, 3), entry(7, 1), entry(9, 0), entry(8, 1)]);
    assert_eq!(pairs(&log), [(6, 3), (7, 3), (8, 1)]);
    let empty = Log::from_entries(9, [entry(5, 0)]);
    assert!(empty.is_empty());
}

#[test]
fn a_single_entry_takes_no_heap_and_many_take_little() {
    let limit = Limit::new(10_000, Duration::from_secs(10)).expect("a log");
    let limit = limit.resolution(Resolution::Ms(1)).expect("an exact log");
    let mut run = Run::new(limit, 0);
    run.check(2);
    let State::Log(log) = &run.state else { panic!("another kind") };
    assert_eq!(log.single(), Some(LogEntry { stamp_ms: 0, count: 2 }));
    assert_eq!(run.state.heap_bytes(), 0);
    for _ in 0..9_998 {
        run.true_ms += 1;
        run.check(1);
    }
    // 6 bytes an entry, and the ring grows by doubling but never past what the limit can need.
    let State::Log(log) = &run.state else { panic!("another kind") };
    assert_eq!((log.len(), log.single()), (9_999, None));
    assert!((9_990 * 6..=10_000 * 6).contains(&run.state.heap_bytes()), "{} bytes", run.state.heap_bytes());
}
