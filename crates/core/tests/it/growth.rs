//! How a log's memory grows: by doubling, never past what its limit can need, and never
//! unannounced.

use std::time::Duration;

use slidegate_core::{Limit, Log, LogEntry, Resolution, State};

use crate::run::{Run, peek};
use crate::trace::DAY_MS;

fn exact(quota: u64, window_ms: u64) -> Limit {
    let log = Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
    log.resolution(Resolution::Ms(1)).expect("an exact log")
}

/// Admits one unit every `apart_ms`; gives the bytes on the heap after each.
fn fill(run: &mut Run, count: usize, apart_ms: u64) -> Vec<usize> {
    let admit = |_| {
        run.true_ms += apart_ms;
        run.check(1);
        run.state.heap_bytes()
    };
    (0..count).map(admit).collect()
}

#[test]
fn a_ring_doubles_up_to_what_the_limit_can_need() {
    let mut run = Run::new(exact(100, 1_000), 0);
    let mut sizes = fill(&mut run, 100, 1);
    sizes.dedup();
    // A single entry needs no ring; then all entries are in it.
    assert_eq!(sizes, [0, 4, 8, 16, 32, 64, 100].map(|entries| entries * 6));
}

#[test]
fn a_log_says_when_another_entry_may_take_memory() {
    let limit = exact(100, 1_000);
    let mut run = Run::new(limit, 0);
    assert!(!run.state.may_grow(&limit), "a single entry needs no ring");
    fill(&mut run, 1, 1);
    assert!(run.state.may_grow(&limit), "the ring begins with the second");
    fill(&mut run, 1, 1);
    assert!(!run.state.may_grow(&limit), "the ring has room");
    fill(&mut run, 2, 1);
    assert!(run.state.may_grow(&limit), "the ring is full");
    fill(&mut run, 96, 1);
    assert!(!run.state.may_grow(&limit), "the log is full");
}

#[test]
fn counts_that_may_outgrow_their_place_may_take_memory() {
    for (quota, may) in [(65_535, false), (65_536, true)] {
        let limit = exact(quota, 1_000);
        let mut run = Run::new(limit, 0);
        fill(&mut run, 3, 1);
        assert_eq!(run.state.may_grow(&limit), may, "{quota}");
    }
}

#[test]
fn entries_far_apart_take_16_bytes() {
    let limit = exact(50, 1_000 * DAY_MS);
    let mut run = Run::new(limit, 0);
    // The second does not fit beside the first: six words and a list of places.
    let list = |places: usize| size_of::<[u64; 6]>() + places * 16;
    assert_eq!(fill(&mut run, 4, 60 * DAY_MS), [0, list(4), list(4), list(4)]);
    assert!(run.state.may_grow(&limit), "the list is full");
    assert_eq!(fill(&mut run, 1, 60 * DAY_MS), [list(8)]);
    assert!(!run.state.may_grow(&limit), "the list has room");
}

#[test]
fn a_log_from_one_entry_counts_it() {
    let limit = exact(5, 1_000);
    let mut state = State::Log(Log::from_entry(40, Some(LogEntry { stamp_ms: 40, count: 2 })));
    let standing = peek(&mut state, &limit, 50);
    assert_eq!((standing.remaining, standing.reset_after_ms), (3, 990));
}
