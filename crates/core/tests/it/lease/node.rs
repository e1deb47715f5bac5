//! Steps of a node, with a store that answers as a test says.

use std::time::Duration;

use slidegate_core::{
    Decision, LeaseDecision, LeaseGrant, LeaseNode, LeasePhase, LeaseReply, LeaseRequest, LeaseStep, Limit,
    NodeTime, Outcome, Prepayment,
};

const W: u64 = 1_600;
const LENGTH: u64 = W / 8;
const WALL: u64 = 1_745_000_000_000;

fn limit(quota: u64) -> Limit {
    Limit::new(quota, Duration::from_millis(W)).expect("a limit")
}

fn at(ms: u64) -> NodeTime {
    NodeTime { monotonic_ms: ms, wall_ms: WALL + ms }
}

fn new() -> LeaseNode {
    LeaseNode::new(7, limit(100), 2, at(0))
}

fn sync(node: &mut LeaseNode, ms: u64) -> LeaseRequest {
    match node.poll(at(ms)) {
        Some(LeaseStep::Sync(request)) => request,
        other => panic!("{other:?} at {ms}"),
    }
}

fn grant(sequence: u64, limit: u64, epoch: u64) -> LeaseReply {
    LeaseReply::Grant(LeaseGrant { sequence, limit, free: 0, epoch, at_ms: WALL })
}

/// Node with a lease of this many units, requested at 20 and answered at 22.
fn active(units: u64) -> LeaseNode {
    let mut node = new();
    for ms in 0..20 {
        node.decide(1, at(ms));
    }
    let request = sync(&mut node, 20);
    assert!(node.answer(&grant(request.sequence, units, 0), at(22)));
    node
}

/// Units that the node admits at once.
fn drain(node: &mut LeaseNode, ms: u64) -> u64 {
    let headroom = node.headroom(at(ms));
    (0..headroom).for_each(|_| assert!(fits(node.decide(1, at(ms)))));
    assert!(!fits(node.decide(1, at(ms))));
    headroom
}

fn fits(decision: LeaseDecision) -> bool {
    matches!(decision, LeaseDecision::Local(Decision { outcome: Outcome::Fits, .. }))
}

#[test]
fn a_lease_starts_at_twenty_requests_within_a_sixteenth_of_the_window() {
    let mut node = new();
    for round in 0..10 {
        for ms in 0..19 {
            assert_eq!(node.decide(1, at(round * W / 16 + ms)), LeaseDecision::Store(None));
        }
        assert_eq!(node.poll(at(round * W / 16 + 19)), None);
    }
    node.decide(1, at(9 * W / 16 + 20));
    assert_eq!(node.phase(at(W)), LeasePhase::None);
    let request = sync(&mut node, 9 * W / 16 + 20);
    assert_eq!((request.node, request.sequence, request.hold, request.length_ms), (7, 1, 0, LENGTH));
    assert!(request.want > 2 && request.want <= 100, "{request:?}");
    assert_eq!(node.phase(at(W)), LeasePhase::Requesting);
    assert_eq!(node.decide(1, at(9 * W / 16 + 21)), LeaseDecision::Wait);
    assert_eq!(node.poll(at(9 * W / 16 + 21)), None, "one request at a time");
}

#[test]
fn a_node_decides_within_its_lease_and_units_free_themselves() {
    let mut node = active(30);
    assert_eq!(node.phase(at(22)), LeasePhase::Short);
    assert_eq!(drain(&mut node, 22), 30);
    let LeaseDecision::Local(refused) = node.decide(1, at(30)) else { panic!("it is short") };
    assert_eq!(refused.outcome, Outcome::RetryAfter(W - 8));
    assert_eq!((refused.remaining, refused.reset_after_ms), (0, W - 8));
    // Another grant keeps the lease alive until the uses have left the window.
    for ms in (100..W).step_by(100) {
        if let Some(LeaseStep::Sync(request)) = node.poll(at(ms)) {
            assert_eq!(request.hold, 30);
            assert!(node.answer(&grant(request.sequence, 30, 0), at(ms + 1)));
        }
        node.decide(1, at(ms + 1));
    }
    assert_eq!(node.headroom(at(W + 21)), 0);
    assert_eq!(node.headroom(at(W + 22)), 30);
}

/// Rule 3.
#[test]
fn a_lease_ends_when_either_clock_says_so_counted_from_sending() {
    let mut node = active(30);
    // Shortened by the drift of two clocks.
    let end_ms = 20 + LENGTH - 1;
    assert_eq!(node.headroom(at(end_ms - 1)), 30);
    assert_eq!(node.headroom(at(end_ms)), 0);
    let suspended = NodeTime { monotonic_ms: 30, wall_ms: WALL + end_ms };
    assert_eq!(node.headroom(suspended), 0);
    let set_back = NodeTime { monotonic_ms: end_ms, wall_ms: WALL };
    assert_eq!(node.headroom(set_back), 0);
    assert_eq!(node.phase(at(end_ms)), LeasePhase::Lapsed);
    assert_eq!(node.decide(1, at(end_ms)), LeaseDecision::Store(None));
}

/// Rule 1: what is not on lease after the request is not used after it.
#[test]
fn a_request_lowers_the_lease_to_what_it_says() {
    let mut node = active(100);
    (0..5).for_each(|_| assert!(fits(node.decide(1, at(40)))));
    let request = sync(&mut node, 20 + W / 16);
    assert!(request.hold < 100, "{request:?}");
    assert_eq!(node.headroom(at(20 + W / 16)), request.hold - 5);
}

/// Rule 2.
#[test]
fn only_the_answer_to_the_last_request_counts() {
    let mut node = active(30);
    assert!(!node.answer(&grant(1, 90, 0), at(23)), "it was answered");
    let first = sync(&mut node, 120);
    node.lose(first.sequence);
    let second = sync(&mut node, 240);
    assert!(!node.answer(&grant(first.sequence, 90, 0), at(241)));
    assert!(!node.answer(&LeaseReply::Stale, at(241)));
    assert!(node.answer(&grant(second.sequence, 20, 0), at(242)));
    assert_eq!(node.headroom(at(242)), 20);
}

/// Rules 6 and 7.
#[test]
fn units_are_prepaid_between_requests_only() {
    let mut node = active(100);
    let prepayment = Prepayment { node: 7, sequence: 1, units: 40 };
    assert_eq!(node.prepay(40, at(30)), Some(prepayment));
    assert_eq!(node.headroom(at(30)), 60);
    node.restore(&prepayment);
    assert_eq!(node.headroom(at(30)), 100);
    assert_eq!(node.prepay(40, at(30)), Some(prepayment));
    let request = sync(&mut node, 120);
    assert_eq!(node.prepay(1, at(121)), None);
    node.restore(&prepayment);
    assert!(node.answer(&grant(request.sequence, 50, 0), at(122)));
    node.restore(&prepayment);
    assert_eq!(node.headroom(at(122)), 50);
}

#[test]
fn a_cost_above_the_headroom_goes_to_the_store_with_what_there_is() {
    let mut node = active(100);
    (0..10).for_each(|_| assert!(fits(node.decide(1, at(30)))));
    let prepayment = Prepayment { node: 7, sequence: 1, units: 90 };
    assert_eq!(node.decide(95, at(30)), LeaseDecision::Store(Some(prepayment)));
}

/// Rule 8.
#[test]
fn a_lower_quota_ends_the_lease_until_the_store_has_answered() {
    let mut node = active(30);
    let request = sync(&mut node, 120);
    node.set_limit(limit(20));
    assert!(!node.answer(&grant(request.sequence, 30, 0), at(121)), "it is of the old quota");
    assert_eq!(node.headroom(at(121)), 0);
    let request = sync(&mut node, 240);
    assert!(request.want <= 20);
    assert!(node.answer(&grant(request.sequence, 10, 0), at(241)));
    assert_eq!(node.headroom(at(241)), 10);
    node.set_limit(limit(50));
    assert_eq!(node.headroom(at(241)), 10, "a higher one changes nothing by itself");
}

/// Rule 9.
#[test]
fn a_reset_forgets_what_was_surely_used_before_it() {
    let mut node = active(30);
    (0..3).for_each(|_| assert!(fits(node.decide(1, at(22)))));
    let request = sync(&mut node, 120);
    assert!(node.answer(&grant(request.sequence, 30, 0), at(121)));
    // Used after the last request that was answered without the reset: perhaps after the reset.
    (0..4).for_each(|_| assert!(fits(node.decide(1, at(130)))));
    let request = sync(&mut node, 220);
    assert_eq!(request.hold, 30.min(request.want));
    assert!(node.answer(&grant(request.sequence, 30, 5), at(221)));
    assert_eq!((node.epoch(), node.headroom(at(221))), (5, 26));
    // A lower epoch is that of a store that has lost the reset.
    let request = sync(&mut node, 320);
    assert!(node.answer(&grant(request.sequence, 30, 4), at(321)));
    assert_eq!((node.epoch(), node.headroom(at(321))), (5, 26));
}

#[test]
fn a_lease_that_is_not_used_is_closed_with_its_uses_by_age() {
    let mut node = active(30);
    (0..3).for_each(|_| assert!(fits(node.decide(1, at(22)))));
    let mut ms = 22;
    loop {
        ms += W / 16;
        match node.poll(at(ms)) {
            Some(LeaseStep::Close) => break,
            Some(LeaseStep::Sync(request)) => {
                assert!(node.answer(&grant(request.sequence, request.hold, 0), at(ms)));
            }
            None => {}
        }
    }
    assert!(ms > 22 + W / 2 && ms <= 22 + W / 2 + W / 16, "{ms}");
    let sequence = node.sequence();
    let close = node.close(at(ms));
    assert_eq!((close.node, close.sequence), (7, sequence + 1));
    let part = ((ms - 22) / (W / 8)) as usize;
    for (index, used) in close.uses.iter().enumerate() {
        let expected = if index == part { (part as u64 * W / 8, 3) } else { (0, 0) };
        assert_eq!((used.age_ms, used.units), expected, "{index}");
    }
}

#[test]
fn a_full_table_ends_the_lease() {
    let mut node = active(30);
    assert_eq!(drain(&mut node, 30), 30);
    let request = sync(&mut node, 120);
    assert!(!node.answer(&LeaseReply::Full { sequence: 1 }, at(121)));
    assert!(node.answer(&LeaseReply::Full { sequence: request.sequence }, at(121)));
    assert_eq!(node.decide(1, at(122)), LeaseDecision::Store(None));
    // The store counts the units.
    assert_eq!(node.close(at(122)).uses.map(|used| used.units), [0; 8]);
}
