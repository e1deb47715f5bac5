//! A log where a store keeps it, as a head and a ring: it answers as any log, and goes wide and
//! back where it must.

use std::time::Duration;

use slidegate_core::{
    Attempt, History, Limit, Log, LogEntry, LogHead, NarrowLog, Outcome, Receipt, Resolution, Ring, State,
    decide_one,
};
use slidegate_testkit::cases::{Rng, prove};
use slidegate_testkit::ensure;

use crate::oracle::Oracle;
use crate::trace::DAY_MS;

const LOW_MS: u64 = 1 << 32;

/// A step: how far the clock goes, the cost, and the limit.
type Step = (i64, u64, Limit);

/// One of a few limits, so that quota, window and resolution change from step to step.
fn limit(rng: &Rng) -> Limit {
    let quota = rng.pick(&[1, 3, 20, 65_535, 70_000, 1 << 33]);
    let window_ms = rng.pick(&[7, 1_000, 40 * DAY_MS, 49 * DAY_MS, 60 * DAY_MS, 1_000 * DAY_MS]);
    let log = Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
    let slot_ms = rng.pick(&[1, window_ms.div_ceil(3), window_ms]);
    log.resolution(Resolution::Ms(slot_ms)).unwrap_or(log)
}

fn steps(rng: &Rng) -> (u64, Vec<Step>) {
    let start_ms = rng.pick(&[0, 3, LOW_MS - 5, 400 * LOW_MS - 5, 406 * LOW_MS + 77]);
    let mut now = limit(rng);
    let step = |_| {
        if rng.one_in(6) {
            now = limit(rng);
        }
        let ahead = [0, 1, 1, 2, 300, DAY_MS, 20 * DAY_MS, LOW_MS - 1, LOW_MS, 70 * DAY_MS];
        let by_ms = rng.pick(&ahead) as i64;
        let by_ms = if rng.one_in(8) { -by_ms } else { by_ms };
        (by_ms, rng.pick(&[0, 1, 1, 2, 65_534, 65_535, 65_536, 1 << 32]), now)
    };
    (start_ms, (0..rng.between(2, 40)).map(step).collect())
}

/// What a store does: narrow while that fits, and by way of a log where it does not.
fn decide(
    state: &mut Result<(LogHead, Ring), Log>,
    limit: &Limit,
    attempt: Attempt,
) -> slidegate_core::Decision {
    if let Ok((head, ring)) = state {
        let mut narrow = NarrowLog { head, ring };
        if narrow.fits(limit, attempt) {
            return decide_one(&mut narrow, limit, attempt);
        }
    }
    let mut log = match std::mem::replace(state, Err(Log::EMPTY)) {
        Ok((head, ring)) => Log::from_narrow(head, ring),
        Err(log) => log,
    };
    let decision = decide_one(&mut log, limit, attempt);
    *state = log.into_narrow();
    decision
}

fn entry(stamp_ms: u64, count: u64) -> LogEntry {
    LogEntry { stamp_ms, count }
}

#[test]
fn a_narrow_log_decides_as_the_oracle_whatever_the_limit_was() {
    prove(steps, |&start_ms, steps| {
        let (mut state, mut oracle, mut now_ms) =
            (Ok((LogHead::EMPTY, Ring::EMPTY)), Oracle::default(), start_ms);
        for (id, &(by_ms, cost, limit)) in (0..).zip(steps) {
            now_ms = now_ms.saturating_add_signed(by_ms);
            let decision = decide(&mut state, &limit, Attempt { now_ms, cost, holder: 0 });
            let right = oracle.decide(&limit, cost, now_ms, id);
            ensure!(decision == right, "{cost} at {now_ms}: {decision:?}, not {right:?}");
            let (entries, right) = (entries(&state), oracle.entries());
            ensure!(entries == right, "{entries:?}, not {right:?}");
        }
        Ok(())
    });
}

fn entries(state: &Result<(LogHead, Ring), Log>) -> Vec<(u64, u64)> {
    let log = match state {
        Ok((head, ring)) => Log::from_narrow(*head, ring.clone()),
        Err(log) => log.clone(),
    };
    log.entries().map(|entry| (entry.stamp_ms, entry.count)).collect()
}

fn exact(quota: u64, window_ms: u64) -> Limit {
    let log = Limit::new(quota, Duration::from_millis(window_ms)).expect("a log");
    log.resolution(Resolution::Ms(1)).expect("an exact log")
}

/// Thousands of turns of the ring, across multiples of 2^32 ms, with settlements between.
#[test]
fn a_full_ring_turns_without_growing() {
    let limit = exact(10, 10_000);
    let (mut head, mut ring) = (LogHead::EMPTY, Ring::EMPTY);
    let start_ms = 400 * LOW_MS - 5_000_000;
    for n in 0..10_000 {
        let (now_ms, mut narrow) = (start_ms + 1_000 * n, NarrowLog { head: &mut head, ring: &mut ring });
        let attempt = Attempt { now_ms, cost: 1, holder: 0 };
        assert!(narrow.fits(&limit, attempt));
        let decision = decide_one(&mut narrow, &limit, attempt);
        assert_eq!((decision.outcome, decision.stamp_ms), (Outcome::Fits, now_ms));
        if n >= 9 {
            let wait_ms = |cost| Attempt { cost, ..attempt };
            let refused = |log: &mut NarrowLog<'_>, cost| decide_one(log, &limit, wait_ms(cost)).outcome;
            assert_eq!(refused(&mut narrow, 1), Outcome::RetryAfter(1_000));
            assert_eq!(refused(&mut narrow, 7), Outcome::RetryAfter(7_000));
            assert_eq!((head.len(), ring.capacity(), ring.heap_bytes()), (10, 10, 60));
        }
    }
    let log = Log::from_narrow(head, ring);
    let stamps: Vec<u64> = log.entries().map(|entry| entry.stamp_ms).collect();
    let right: Vec<u64> = (9_990..10_000).map(|n| start_ms + 1_000 * n).collect();
    assert_eq!(stamps, right);
}

#[test]
fn a_refund_takes_its_entry_out_of_the_ring_wherever_that_turned_to() {
    let limit = exact(5, 5);
    for turned in 0..7 {
        for refunded in 0..5 {
            let mut state = State::new(&limit);
            for now_ms in 0..turned + 5 {
                state.decide(&limit, Attempt { now_ms, cost: 1, holder: 0 });
            }
            let stamp_ms = turned + refunded;
            let receipt = Receipt { stamp_ms, cost: 1, holder: 0 };
            state.settle(&limit, &receipt, 0, turned + 4);
            let State::Log(log) = &state else { panic!("another kind") };
            let stamps: Vec<u64> = log.entries().map(|entry| entry.stamp_ms).collect();
            let right: Vec<u64> = (turned..turned + 5).filter(|ms| *ms != stamp_ms).collect();
            assert_eq!(stamps, right);
            // The totals are right too: one more fits, and then none.
            let mut attempt = |now_ms| state.decide(&limit, Attempt { now_ms, cost: 1, holder: 0 }).outcome;
            assert_eq!(attempt(turned + 4), Outcome::Fits);
            assert!(matches!(attempt(turned + 4), Outcome::RetryAfter(_)));
        }
    }
}

#[test]
fn counts_up_to_65_535_are_narrow_beside_others_and_any_32_bits_alone() {
    let entry = |stamp_ms, count| LogEntry { stamp_ms, count };
    let is_narrow =
        |entries: &[LogEntry]| Log::from_entries(9, entries.iter().copied()).into_narrow().is_ok();
    assert!(is_narrow(&[]) && is_narrow(&[entry(5, u64::from(u32::MAX))]));
    assert!(!is_narrow(&[entry(5, LOW_MS)]));
    assert!(is_narrow(&[entry(5, 65_535), entry(6, 65_535)]));
    assert!(!is_narrow(&[entry(5, 65_536), entry(6, 1)]) && !is_narrow(&[entry(5, 1), entry(6, 65_536)]));
    assert!(is_narrow(&[entry(5, 1), entry(4 + LOW_MS, 1)]));
    assert!(!is_narrow(&[entry(5, 1), entry(5 + LOW_MS, 1)]));
    let many = |n| (0..n).map(|ms| entry(ms, 1)).collect::<Vec<_>>();
    assert!(is_narrow(&many(65_535)) && !is_narrow(&many(65_536)));
}

/// A log that outgrew its narrow form is narrow again once what was too large has gone.
#[test]
fn a_wide_log_becomes_narrow_again() {
    let limit = exact(1 << 20, 1_000);
    let mut log = Log::EMPTY;
    let attempt =
        |log: &mut Log, now_ms, cost| decide_one(log, &limit, Attempt { now_ms, cost, holder: 0 }).outcome;
    assert_eq!(attempt(&mut log, 0, 70_000), Outcome::Fits);
    assert_eq!(attempt(&mut log, 1, 65_535), Outcome::Fits);
    let wide = log.into_narrow().expect_err("70,000 beside others");
    let mut log = wide;
    log.peek(&limit, 1_000);
    let (head, ring) = log.into_narrow().expect("one entry is left");
    assert_eq!((head.single(), head.last_ms()), (Some(LogEntry { stamp_ms: 1, count: 65_535 }), 1));
    assert_eq!(ring.capacity(), 0, "a single entry needs no place");
}

#[test]
fn what_a_head_and_a_ring_say_of_themselves() {
    let limit = exact(5, 1_000);
    let (mut head, mut ring) = (LogHead::EMPTY, Ring::EMPTY);
    assert!(head.is_empty() && head.single().is_none());
    // The first entry needs no place, and a store that thinks it might only looks once more.
    for (now_ms, grows) in [(10, true), (11, true), (12, false), (13, false), (14, true), (15, false)] {
        let mut narrow = NarrowLog { head: &mut head, ring: &mut ring };
        assert_eq!(narrow.may_grow(&limit), grows, "{now_ms}");
        decide_one(&mut narrow, &limit, Attempt { now_ms, cost: 1, holder: 0 });
        assert_eq!(head.last_ms(), now_ms.min(14));
    }
    assert_eq!((head.len(), head.total(), head.single(), ring.heap_bytes()), (5, 5, None, 30));
    assert_eq!(size_of::<(LogHead, Ring)>(), 48);
}

/// What a store asks of a log before it keeps it as two parts.
#[test]
fn a_log_says_whether_it_is_narrow_and_stays_so() {
    let limit = exact(1 << 20, 1_000);
    let attempt = |cost| Attempt { now_ms: 5, cost, holder: 0 };
    let narrow = Log::from_entries(4, [entry(3, 2), entry(4, 65_000)]);
    assert!(narrow.is_narrow() && narrow.fits_narrow(&limit, attempt(500)));
    assert!(!narrow.fits_narrow(&limit, attempt(70_000)), "beside others");
    let wide = Log::from_entries(4, [entry(3, 70_000), entry(4, 1)]);
    assert!(!wide.is_narrow() && !wide.fits_narrow(&limit, attempt(1)));
    assert_eq!((wide.single(), wide.len()), (None, 2));
    let huge = Log::from_entry(4, Some(entry(4, 1 << 40)));
    assert!(!huge.is_narrow());
    assert_eq!(huge.single(), Some(entry(4, 1 << 40)));
    let inner = State::Log(narrow).into_log().expect("it is a log");
    assert_eq!(inner.entries().collect::<Vec<_>>(), [entry(3, 2), entry(4, 65_000)]);
    assert!(State::new(&limit.counter().expect("a counter")).into_log().is_none());
}

/// The repair of a clock makes one entry of many: its count may need a wide place.
#[test]
fn a_repair_widens_what_it_merges() {
    let limit = exact(1 << 20, 1_000);
    for counts in [[30_000, 35_535], [30_000, 35_536], [40_000, 40_000]] {
        let entries = [entry(4_000, 7), entry(9_000, counts[0]), entry(9_001, counts[1])];
        let mut log = Log::from_entries(9_001, entries);
        assert!(log.is_narrow());
        let remaining = log.peek(&limit, 4_100).0;
        let merged = counts[0] + counts[1];
        assert_eq!(remaining, (1 << 20) - 7 - merged);
        assert_eq!(log.entries().collect::<Vec<_>>(), [entry(4_000, 7), entry(4_100, merged)]);
    }
}
