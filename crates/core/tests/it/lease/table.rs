//! Numbers of the store's side: grants, rows, charges beside them, closes and resets.

use std::time::Duration;

use slidegate_core::{
    Attempt, Decision, History, LeaseClose, LeaseGrant, LeaseLog, LeaseReply, LeaseRequest, LeaseUse, Limit,
    LimitAttempt, Log, LogEntry, MAX_LEASE_ROWS, MAX_LEASE_USES, Outcome, Prepayment, State, decide_one,
    decide_prepaid,
};

const W: u64 = 1_000;
const LENGTH: u64 = 125;
const T: u64 = 1_745_000_000_000;

fn limit(quota: u64) -> Limit {
    Limit::new(quota, Duration::from_millis(W)).expect("a limit")
}

fn request(node: u64, sequence: u64, hold: u64, want: u64) -> LeaseRequest {
    LeaseRequest { node, sequence, hold, want, demand: want, length_ms: LENGTH }
}

fn empty() -> LeaseLog {
    LeaseLog::from(Log::EMPTY)
}

fn grant(reply: LeaseReply) -> LeaseGrant {
    match reply {
        LeaseReply::Grant(grant) => grant,
        other => panic!("{other:?}"),
    }
}

fn charge(log: &mut LeaseLog, limit: &Limit, cost: u64, now_ms: u64) -> Decision {
    decide_one(log, limit, Attempt { now_ms, cost, holder: 0 })
}

fn remaining(log: &mut LeaseLog, limit: &Limit, now_ms: u64) -> u64 {
    log.standing(limit, now_ms).remaining
}

#[test]
fn everyone_gets_what_it_wants_while_there_is_enough() {
    let (limit, mut log) = (limit(100), empty());
    let first = grant(log.lease(&limit, &request(1, 1, 0, 30), T));
    assert_eq!(first, LeaseGrant { sequence: 1, limit: 30, free: 70, epoch: 0, at_ms: T });
    let second = grant(log.lease(&limit, &request(2, 1, 0, 50), T + 1));
    assert_eq!((second.limit, second.free), (50, 20));
    assert_eq!(remaining(&mut log, &limit, T + 1), 20);
    assert_eq!(log.leased(), 80);
}

#[test]
fn a_scarce_quota_is_divided_by_demand_as_far_as_it_is_free() {
    let (limit, mut log) = (limit(100), empty());
    assert_eq!(grant(log.lease(&limit, &request(1, 1, 0, 100), T)).limit, 100);
    // Nothing is free yet: the first holds all.
    assert_eq!(grant(log.lease(&limit, &request(2, 1, 0, 100), T)).limit, 0);
    // It is allowed its half, and holds 60 that it has used.
    assert_eq!(grant(log.lease(&limit, &request(1, 2, 60, 100), T)).limit, 50);
    assert_eq!(grant(log.lease(&limit, &request(2, 2, 0, 100), T)).limit, 40);
    assert_eq!(grant(log.lease(&limit, &request(1, 3, 45, 100), T)).limit, 50);
    assert_eq!(grant(log.lease(&limit, &request(2, 3, 40, 100), T)).limit, 50);
    // A want below the part of its demand is met, and the rest goes to the others.
    let modest = LeaseRequest { demand: 100, ..request(2, 4, 10, 20) };
    assert_eq!(grant(log.lease(&limit, &modest, T)).limit, 20);
    assert_eq!(grant(log.lease(&limit, &request(1, 4, 50, 100), T)).limit, 80);
}

#[test]
fn a_little_more_than_the_target_stays() {
    let (limit, mut log) = (limit(640), empty());
    log.lease(&limit, &request(1, 1, 0, 640), T);
    log.lease(&limit, &request(2, 1, 0, 640), T);
    assert_eq!(grant(log.lease(&limit, &request(1, 2, 331, 640), T)).limit, 331);
    assert_eq!(grant(log.lease(&limit, &request(1, 3, 332, 640), T)).limit, 320);
}

#[test]
fn a_repeated_request_changes_nothing() {
    let (limit, mut log) = (limit(100), empty());
    log.lease(&limit, &request(1, 5, 0, 30), T);
    let rows = log.rows().to_vec();
    for sequence in [5, 4, 0] {
        assert_eq!(log.lease(&limit, &request(1, sequence, 99, 99), T + 1), LeaseReply::Stale);
    }
    assert_eq!(log.rows(), rows);
}

/// Rule 4: the node may have used all of it just before the end.
#[test]
fn a_row_counts_for_a_window_after_its_end() {
    let (limit, mut log) = (limit(100), empty());
    log.lease(&limit, &request(1, 1, 0, 100), T);
    let released_ms = T + LENGTH + W;
    let denied = charge(&mut log, &limit, 1, T + 1);
    assert_eq!(denied.outcome, Outcome::RetryAfter(released_ms - T - 1));
    assert_eq!(remaining(&mut log, &limit, released_ms - 1), 0);
    assert_eq!(remaining(&mut log, &limit, released_ms), 100);
    assert!(log.rows().is_empty());
}

/// Rule 5: whatever the store has lost.
#[test]
fn what_a_node_holds_is_a_fact() {
    let (limit, mut log) = (limit(100), empty());
    // The node used 60 under a row that a failover lost; another was granted everything since.
    assert_eq!(grant(log.lease(&limit, &request(2, 1, 0, 100), T)).limit, 100);
    let lost = grant(log.lease(&limit, &request(1, 5, 60, 60), T + 10));
    assert_eq!((lost.limit, lost.free), (0, 0));
    assert_eq!(log.leased(), 160);
    assert_eq!(charge(&mut log, &limit, 1, T + 10).remaining, 0);
    // The other has used none of it: at its next request it is allowed what is left.
    assert_eq!(grant(log.lease(&limit, &request(2, 2, 100, 100), T + 20)).limit, 40);
}

#[test]
fn waits_count_entries_and_ends_of_leases() {
    let (limit, mut log) = (limit(10), empty());
    charge(&mut log, &limit, 4, T);
    log.lease(&limit, &request(1, 1, 0, 6), T + 10);
    for (cost, wait_ms) in [(1, W), (4, W), (5, 10 + LENGTH + W), (10, 10 + LENGTH + W)] {
        let decision = charge(&mut log, &limit, cost, T + 20);
        assert_eq!(decision.outcome, Outcome::RetryAfter(wait_ms - 20), "{cost}");
        assert_eq!(decision.reset_after_ms, 10 + LENGTH + W - 20);
    }
    assert_eq!(charge(&mut log, &limit, 11, T + 20).outcome, Outcome::Never);
    assert_eq!(charge(&mut log, &limit, 4, T + W).outcome, Outcome::Fits);
}

#[test]
fn a_prepayment_moves_from_its_row_to_the_log() {
    let limit = limit(10);
    let mut state = State::new(&limit);
    state.lease(&limit, &request(1, 3, 0, 10), T).expect("a log");
    let mut prepaid = |sequence, units, cost| {
        let prepayment = Prepayment { node: 1, sequence, units };
        let attempt = LimitAttempt { limit: &limit, cost, holder: 0, state: &mut state };
        let verdict = decide_prepaid(&mut [attempt], &[Some(prepayment)], T + 1);
        let State::LeaseLog(log) = &state else { panic!("it has a row") };
        (verdict.is_allowed(), log.leased(), log.log().entries().map(|entry| entry.count).sum::<u64>())
    };
    assert_eq!(prepaid(2, 4, 4), (false, 10, 0), "an earlier sequence number");
    assert_eq!(prepaid(4, 4, 4), (false, 10, 0), "a later one");
    assert_eq!(prepaid(3, 11, 11), (false, 10, 0), "more than the row has");
    assert_eq!(prepaid(3, 3, 4), (false, 10, 0), "a denial puts it back");
    assert_eq!(prepaid(3, 4, 4), (true, 6, 4));
    assert_eq!(prepaid(3, 6, 2), (true, 4, 6), "no more than the cost");
}

#[test]
fn a_denial_by_another_limit_puts_a_prepayment_back() {
    let (limit, second) = (limit(10), limit(1).named("second"));
    let (mut state, mut other) = (State::new(&limit), State::new(&second));
    state.lease(&limit, &request(1, 1, 0, 10), T).expect("a log");
    for (allowed, leased) in [(true, 9), (false, 9)] {
        let attempts = &mut [
            LimitAttempt { limit: &limit, cost: 1, holder: 0, state: &mut state },
            LimitAttempt { limit: &second, cost: 1, holder: 0, state: &mut other },
        ];
        let prepayment = Prepayment { node: 1, sequence: 1, units: 1 };
        let verdict = decide_prepaid(attempts, &[Some(prepayment), None], T);
        let State::LeaseLog(log) = &state else { panic!("it has a row") };
        assert_eq!((verdict.is_allowed(), log.leased()), (allowed, leased));
    }
}

#[test]
fn a_close_leaves_what_was_used() {
    let (limit, mut log) = (limit(100), empty());
    log.lease(&limit, &request(1, 1, 0, 60), T);
    let mut uses = [LeaseUse::default(); MAX_LEASE_USES];
    uses[0] = LeaseUse { age_ms: 0, units: 5 };
    uses[7] = LeaseUse { age_ms: 875, units: 7 };
    uses[3] = LeaseUse { age_ms: W, units: 20 };
    let close = |sequence| LeaseClose { node: 1, sequence, uses };
    assert!(!log.close(&limit, &close(1), T + 100), "not newer than the row");
    assert!(log.close(&limit, &close(2), T + 100));
    assert!(log.rows().is_empty());
    let entries: Vec<LogEntry> = log.log().entries().collect();
    let expected = [(T + 100 - 875, 7), (T + 100, 5)].map(|(stamp_ms, count)| LogEntry { stamp_ms, count });
    assert_eq!(entries, expected);
    assert_eq!(remaining(&mut log, &limit, T + 100), 88);
}

#[test]
fn a_reset_clears_the_log_and_keeps_the_rows() {
    let (limit, mut log) = (limit(100), empty());
    charge(&mut log, &limit, 30, T);
    log.lease(&limit, &request(1, 1, 0, 60), T);
    log.reset();
    assert_eq!((log.epoch(), log.leased()), (T * 1_000, 60));
    assert_eq!(remaining(&mut log, &limit, T + 5), 40);
    log.reset();
    assert_eq!(log.epoch(), T * 1_000 + 1, "every reset raises it");
    assert_eq!(grant(log.lease(&limit, &request(1, 2, 60, 60), T + 6)).epoch, log.epoch());
}

#[test]
fn a_state_is_a_plain_log_without_rows() {
    let limit = limit(10);
    let mut state = State::new(&limit);
    state.lease(&limit, &request(1, 1, 0, 10), T).expect("a log");
    assert!(matches!(state, State::LeaseLog(_)));
    let close = LeaseClose { node: 1, sequence: 2, uses: [LeaseUse { age_ms: 5, units: 1 }; 8] };
    assert_eq!(state.close_lease(&limit, &close, T + 10), Some(true));
    assert_eq!(state.peek(&limit, T + 10).0, 2);
    assert!(state.into_log().is_some());
    let counter = limit.counter().expect("a counter");
    assert_eq!(State::new(&counter).lease(&counter, &request(1, 1, 0, 10), T), None);
}

#[test]
fn a_lower_quota_applies_to_leases_at_once() {
    let (limit, low, mut log) = (limit(100), limit(40), empty());
    log.lease(&limit, &request(1, 1, 0, 60), T);
    assert_eq!(remaining(&mut log, &low, T), 0);
    let lowered = grant(log.lease(&low, &request(1, 2, 50, 60), T));
    assert_eq!((lowered.limit, lowered.free), (40, 0));
    assert_eq!(log.leased(), 50);
}

#[test]
fn a_clock_that_steps_back_delays_and_one_that_was_wrong_is_repaired() {
    let (limit, mut log) = (limit(100), empty());
    charge(&mut log, &limit, 30, T);
    log.lease(&limit, &request(1, 1, 0, 60), T);
    // Within a window: it decides at the last write.
    assert_eq!(grant(log.lease(&limit, &request(1, 2, 60, 60), T - W)).at_ms, T);
    assert_eq!(log.rows()[0].end_ms, T + LENGTH);
    // Beyond: every stamp ahead becomes now, and a lease has its length.
    let now_ms = T - W - 1;
    assert_eq!(remaining(&mut log, &limit, now_ms), 10);
    assert_eq!(log.rows()[0].end_ms, now_ms + LENGTH);
    assert_eq!(log.log().entries().next(), Some(LogEntry { stamp_ms: now_ms, count: 30 }));
    assert_eq!(remaining(&mut log, &limit, now_ms + W), 40);
    assert_eq!(remaining(&mut log, &limit, now_ms + W + LENGTH), 100);
}

#[test]
fn rows_are_bounded() {
    let (limit, mut log) = (limit(1_000), empty());
    for node in 0..MAX_LEASE_ROWS as u64 {
        grant(log.lease(&limit, &request(node, 1, 0, 10), T + node));
    }
    // All of them have leases: one more gets none, and what it holds counts until its lease is
    // over.
    let now_ms = T + LENGTH - 1;
    let full = LeaseReply::Full { sequence: 9 };
    assert_eq!(log.lease(&limit, &request(99, 9, 0, 10), now_ms), full);
    assert_eq!(remaining(&mut log, &limit, now_ms), 360);
    assert_eq!(log.lease(&limit, &request(99, 9, 7, 10), now_ms), full);
    assert_eq!(remaining(&mut log, &limit, now_ms), 353);
    // The first has lapsed: it becomes an entry at its end.
    assert_eq!(grant(log.lease(&limit, &request(98, 1, 0, 10), T + LENGTH)).limit, 10);
    assert_eq!(log.rows().len(), MAX_LEASE_ROWS);
    assert!(log.rows().iter().all(|row| row.node != 0));
    assert_eq!(remaining(&mut log, &limit, T + LENGTH), 343);
    let slot_end_ms = |ms: u64| ms - ms % 8 + 7;
    let first = log.log().entries().next().expect("the lapsed lease");
    assert_eq!(first, LogEntry { stamp_ms: slot_end_ms(T + LENGTH), count: 10 });
}

#[test]
fn a_log_instead_of_leases_counts_them_at_their_ends() {
    let (limit, mut log) = (limit(100), empty());
    charge(&mut log, &limit, 30, T);
    log.lease(&limit, &request(1, 1, 0, 60), T);
    let mut plain = log.to_log();
    for now_ms in [T, T + W - 1, T + W, T + W + LENGTH - 1, T + W + LENGTH] {
        assert_eq!(plain.standing(&limit, now_ms), log.standing(&limit, now_ms), "{}", now_ms - T);
    }
}

#[test]
fn extreme_requests_are_bounded() {
    let limit = Limit::new(slidegate_core::MAX_QUOTA, Duration::from_millis(W)).expect("a limit");
    let mut log = empty();
    for node in 0..80 {
        let all = LeaseRequest {
            node,
            sequence: u64::MAX,
            hold: u64::MAX,
            want: u64::MAX,
            demand: u64::MAX,
            length_ms: u64::MAX,
        };
        log.lease(&limit, &all, u64::MAX);
        assert_eq!(remaining(&mut log, &limit, u64::MAX), 0);
    }
    assert_eq!(log.rows().len(), MAX_LEASE_ROWS);
}
