//! A policy over a store: rules together, rules that look on, permits, requests that are sent
//! again, limits in the request.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use slidegate::policy::Blocked;
use slidegate::store::{Charge, ChargeRequest, MAX_IDEMPOTENCY_ENTRIES};
use slidegate::{
    CheckRequest, Clock, Gate, GateError, Key, Limit, ManualClock, Memory, Outcome, ReserveRequest,
    SettleOutcome, Space,
};

use crate::gates::{self, START_MS, ask, check, gate, left, policy, request};

const TWO_RULES: &str = "
  - { name: login, match: { path: /login }, key: [user], limits: [2/min] }
  - { name: all, key: [ip], limits: [3/s, 5/min] }
";

#[tokio::test]
async fn every_matching_rule_decides_and_a_denial_charges_nothing() {
    let (gate, clock) = gate(TWO_RULES);
    let login = "path=/login user=alice ip=10.0.0.1";
    assert_eq!(left(&check(&gate, login).await), "login-2/min 1, all-3/s 2, all-5/min 4");
    assert_eq!(left(&check(&gate, login).await), "login-2/min 0, all-3/s 1, all-5/min 3");
    let refused = check(&gate, login).await;
    assert!(!refused.is_allowed());
    assert_eq!(left(&refused), "login-2/min 0, all-3/s 1, all-5/min 3");
    assert_eq!(refused.verdict().retry_after_ms(), Some(60_000));
    assert_eq!(left(&check(&gate, "path=/ ip=10.0.0.1").await), "all-3/s 0, all-5/min 2");
    clock.advance_ms(1_000);
    assert_eq!(
        left(&check(&gate, "path=/login user=bob ip=10.0.0.1").await),
        "login-2/min 1, all-3/s 2, all-5/min 1"
    );
}

#[tokio::test]
async fn without_a_rule_that_applies_a_request_passes() {
    let (gate, _) = gate("  - { name: login, match: { path: /login }, key: [user], limits: [1/min] }\n");
    let answer = check(&gate, "path=/other").await;
    assert!(answer.is_allowed());
    assert_eq!(answer.limits().count(), 0);
    assert_eq!((answer.verdict().remaining(), answer.verdict().reset_after_ms()), (None, None));
}

#[tokio::test]
async fn a_look_takes_nothing() {
    let (gate, _) = gate(TWO_RULES);
    for _ in 0..5 {
        let look = ask(&gate, &CheckRequest::from(request("path=/ ip=10.0.0.1").cost(0))).await;
        assert_eq!(left(&look), "all-3/s 3, all-5/min 5");
        assert!(look.unsigned_permit().is_none());
    }
}

#[tokio::test]
async fn an_observed_rule_reports_what_it_would_deny_and_denies_nobody() {
    let (gate, _) = gate(
        "
  - { name: hard, key: [ip], limits: [3/min] }
  - { name: one, key: [ip], limits: [1/min], mode: observe }
  - { name: two, key: [ip], limits: [2/min], mode: observe }
",
    );
    let outcomes = async || {
        let answer = check(&gate, "ip=10.0.0.1").await;
        let observed =
            answer.observed().map(|limit| (limit.rule.unwrap_or("").to_owned(), limit.decision.outcome));
        (answer.is_allowed(), answer.limits().count(), observed.collect::<Vec<_>>())
    };
    let retry = Outcome::RetryAfter(60_000);
    let say = |one, two| vec![("one".to_owned(), one), ("two".to_owned(), two)];
    assert_eq!(outcomes().await, (true, 1, say(Outcome::Fits, Outcome::Fits)));
    // What one of them would have refused, the other still counts.
    assert_eq!(outcomes().await, (true, 1, say(retry, Outcome::Fits)));
    assert_eq!(outcomes().await, (true, 1, say(retry, retry)));
    // A request that never came to be is nothing to look at.
    assert_eq!(outcomes().await, (false, 1, Vec::new()));
}

#[tokio::test]
async fn lists_and_missing_attributes_bar_a_request_whatever_its_limits() {
    let (gate, _) = gate(
        "
  - { name: lists, key: [user], limits: [1/min], deny: [{ user: mallory }], allow: [{ user: root }] }
  - { name: keyed, match: { path: /keyed }, key: [org], limits: [1/min], missing: deny }
",
    );
    let barred = check(&gate, "user=mallory").await;
    assert_eq!(barred.blocked(), Some(("lists", Blocked::DenyList)));
    assert!(!barred.is_allowed());
    assert_eq!(check(&gate, "path=/keyed user=bob").await.blocked(), Some(("keyed", Blocked::MissingKey)));
    for _ in 0..3 {
        assert!(check(&gate, "user=root").await.is_allowed());
    }
}

#[tokio::test]
async fn a_permit_gives_back_what_its_rules_allow_once() {
    let (gate, _) = gate(
        "
  - { name: tokens, key: [user], limits: [10/min], refundable: true }
  - { name: calls, key: [user], limits: [5/min] }
",
    );
    let reserved = ask(&gate, &CheckRequest::from(request("user=alice").cost(4))).await;
    assert_eq!(left(&reserved), "tokens-10/min 6, calls-5/min 1");
    let permit = &gate.permit(&reserved).expect("a permit");
    assert_eq!(gate.settle(permit, 1).await.expect("settled").outcome, SettleOutcome::Settled);
    assert_eq!(gate.refund(permit).await.expect("an answer").outcome, SettleOutcome::AlreadySpent);
    let look = ask(&gate, &CheckRequest::from(request("user=alice").cost(0))).await;
    assert_eq!(left(&look), "tokens-10/min 9, calls-5/min 1");
}

#[tokio::test]
async fn a_place_in_flight_is_released_and_the_rest_stays_charged() {
    let (gate, clock) = gate(
        "
  - { name: mixed, key: [user], limits: [9/min, { in_flight: 1, hold: 30s }] }
  - { name: tokens, key: [user], limits: [90/min], refundable: true }
",
    );
    let first = check(&gate, "user=alice").await;
    let refused = check(&gate, "user=alice").await;
    assert!(!refused.is_allowed() && refused.unsigned_permit().is_none());
    // Settled at what it cost: the place is free, whatever that was.
    assert_eq!(
        gate.settle(&gate.permit(&first).expect("a permit"), 7).await.expect("settled").outcome,
        SettleOutcome::Settled
    );
    let second = check(&gate, "user=alice").await;
    assert_eq!(left(&second), "mixed-9/min 7, mixed-1-in-flight-for-30s 0, tokens-90/min 82");
    // Who never releases is let go of.
    clock.advance_ms(29_999);
    assert!(!check(&gate, "user=alice").await.is_allowed());
    clock.advance_ms(1);
    assert!(check(&gate, "user=alice").await.is_allowed());
}

/// One subject with both kinds of limits, all of which can be given back.
#[tokio::test]
async fn a_permit_can_release_a_place_and_correct_a_cost_of_the_same_subject() {
    let (gate, _) = gate(
        "
  - { name: llm, key: [user], limits: [100/min, { in_flight: 1, hold: 30s }], refundable: true }
",
    );
    let first = ask(&gate, &CheckRequest::from(request("user=alice").cost(1))).await;
    let permit = &gate.permit(&first).expect("a permit");
    assert_eq!(gate.settle(permit, 40).await.expect("settled").outcome, SettleOutcome::Settled);
    assert_eq!(gate.settle(permit, 1).await.expect("an answer").outcome, SettleOutcome::AlreadySpent);
    let second = check(&gate, "user=alice").await;
    assert_eq!(left(&second), "llm-100/min 59, llm-1-in-flight-for-30s 0");
    assert_eq!(
        gate.refund(&gate.permit(&second).expect("a permit")).await.expect("refunded").outcome,
        SettleOutcome::Settled
    );
    assert_eq!(left(&check(&gate, "user=alice").await), "llm-100/min 59, llm-1-in-flight-for-30s 0");
}

#[tokio::test]
async fn lists_of_an_observed_rule_block_nobody() {
    let (gate, _) = gate(
        "
  - { name: lists, key: [user], limits: [1/min], deny: [{ user: mallory }], mode: observe }
  - { name: keyed, key: [org], limits: [1/min], missing: deny, mode: { enforce_for: [{ user: eve }] } }
",
    );
    assert!(check(&gate, "user=mallory").await.is_allowed());
    assert_eq!(check(&gate, "user=eve").await.blocked(), Some(("keyed", Blocked::MissingKey)));
}

#[tokio::test]
async fn slots_of_an_observed_rule_are_released_too() {
    let (gate, _) =
        gate("  - { name: slots, key: [user], limits: [{ in_flight: 1, hold: 1h }], mode: observe }\n");
    for _ in 0..5 {
        let answer = check(&gate, "user=alice").await;
        assert!(answer.observed().all(|limit| limit.decision.outcome == Outcome::Fits));
        gate.refund(&gate.permit(&answer).expect("a permit")).await.expect("released");
    }
}

#[tokio::test]
async fn what_is_sent_again_is_charged_once_and_gets_the_same_permit() {
    let (gate, _) = gate("  - { name: tokens, key: [user], limits: [10/min], refundable: true }\n");
    let once = |user| CheckRequest {
        idempotency_key: Some("order-7".into()),
        ..CheckRequest::from(request(user).cost(4))
    };
    let (first, again) = (ask(&gate, &once("user=alice")).await, ask(&gate, &once("user=alice")).await);
    assert_eq!((first.replayed(), again.replayed()), (false, true));
    assert_eq!(first.verdict(), again.verdict());
    assert_eq!(gate.permit(&first), gate.permit(&again));
    assert!(matches!(gate.check(&once("user=bob")).await, Err(GateError::Conflict)));
    assert_eq!(left(&check(&gate, "user=alice").await), "tokens-10/min 5");
    let permit = &gate.permit(&again).expect("a permit");
    assert_eq!(gate.refund(permit).await.expect("an answer").outcome, SettleOutcome::Settled);
    assert_eq!(gate.refund(permit).await.expect("an answer").outcome, SettleOutcome::AlreadySpent);
}

#[tokio::test]
async fn other_rules_take_over_what_was_counted() {
    let (gate, _) = gate("  - { name: login, key: [user], limits: [2/min] }\n");
    check(&gate, "user=alice").await;
    check(&gate, "user=alice").await;
    assert!(!check(&gate, "user=alice").await.is_allowed());
    gate.replace(policy("  - { name: login, key: [user], limits: [5/min] }\n"));
    assert_eq!(left(&check(&gate, "user=alice").await), "login-5/min 2");
}

#[tokio::test]
async fn limits_in_a_request_share_nothing_with_rules() {
    let (gate, _) = gate("  - { name: login, key: [user], limits: [2/min] }\n");
    check(&gate, "user=alice").await;
    let limit = Limit::new(2, Duration::from_secs(60)).expect("a limit");
    let verdict = gate.limit("alice", limit, 2).await.expect("an answer");
    assert_eq!(verdict.remaining(), Some(0));
    assert_eq!(left(&check(&gate, "user=alice").await), "login-2/min 0");
}

#[tokio::test]
async fn one_rule_can_be_checked_by_its_name() {
    let (gate, _) = gate(
        "
  - { name: rlaas, match: { path: /never }, key: [userId], limits: [2/min] }
  - { name: all, limits: [1/min] }
",
    );
    let ask = CheckRequest::from(request("userId=alice"));
    for expected in [true, true, false] {
        let answer = gate.check_rule("rlaas", &ask).await.expect("an answer").expect("a rule");
        assert_eq!(answer.is_allowed(), expected);
    }
    assert!(gate.check_rule("nobody", &ask).await.expect("an answer").is_none());
}

/// A clock that moves on whenever it is read.
#[derive(Default)]
struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now_ms(&self) -> u64 {
        gates::START_MS + self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// Rules in observe mode are asked once the request is decided: each answer has its own time.
#[tokio::test]
async fn what_is_observed_has_its_own_time() {
    let rules = policy(
        "
  - { name: hard, key: [user], limits: [5/min] }
  - { name: soft, key: [user], mode: observe, limits: [5/min] }
  - { name: softer, key: [user], mode: observe, limits: [5/min] }
",
    );
    let gate = Gate::new(rules, Memory::default()).clock(Ticking::default());
    let answer = gate.check(&CheckRequest::from(request("user=alice"))).await.expect("an answer");
    let decided_at_ms = answer.verdict().decided_at_ms;
    assert!(answer.limits().all(|limit| limit.decided_at_ms == decided_at_ms));
    let times: Vec<u64> = answer.observed().map(|limit| limit.decided_at_ms - decided_at_ms).collect();
    assert_eq!(times, [1, 2]);
}

/// A repeat charges nothing, not even where rules only look on, and no others apply.
#[tokio::test]
async fn observed_rules_are_charged_once_too() {
    let watched = "{ name: watched, key: [user], limits: [5/min], mode: observe, refundable: true }";
    let enforced = "{ name: enforced, key: [user], limits: [9/min] }";
    for rules in [format!("- {watched}"), format!("- {watched}\n- {enforced}")] {
        let gate = Gate::new(policy(&rules), Memory::default()).clock(ManualClock::new(START_MS));
        let once = |key: &'static str| CheckRequest {
            idempotency_key: Some(key.into()),
            ..CheckRequest::from(request("user=alice"))
        };
        let used = async || {
            let looked = gate.inspect(Some("watched"), &request("user=alice")).await.expect("a look");
            looked[0].limits().next().expect("a limit").used
        };
        let first = gate.check(&once("a")).await.expect("an answer");
        assert!(!first.replayed());
        for _ in 0..12 {
            let again = gate.check(&once("a")).await.expect("an answer");
            assert!(again.replayed() && again.is_allowed(), "{rules}");
            assert_eq!(used().await, Some(1), "{rules}");
        }
        gate.check(&once("b")).await.expect("an answer");
        assert_eq!(used().await, Some(2), "another request");
    }
}

/// Where no more keys can be remembered, new ones are refused, with the reason and before anything
/// is charged; repeats and requests without a key are answered as ever.
#[tokio::test]
async fn a_full_memory_of_idempotency_keys_refuses_new_ones() {
    let (gate, _) = gate("- { name: api, key: [user], limits: [9/min] }");
    let once = |key: &'static str| CheckRequest {
        idempotency_key: Some(key.into()),
        ..CheckRequest::from(request("user=a"))
    };
    assert!(gate.check(&once("a")).await.expect("an answer").is_allowed());
    let (space, limits) = (Space::named("others"), [Limit::per_minute(1_000_000)]);
    for name in 0..MAX_IDEMPOTENCY_ENTRIES as u64 {
        let charges = [Charge { space, key: &Key::from(name), limits: &limits, cost: 1 }];
        let call = ChargeRequest { now_ms: gate.now_ms(), holder: 0, charges: &charges };
        gate.store().decide_idempotent_now(&ReserveRequest::without_refunds(call), &name.to_le_bytes());
    }
    let error = gate.check(&once("b")).await.expect_err("no room");
    assert!(matches!(error, GateError::Full), "{error}");
    assert!(error.to_string().contains("idempotency key"), "{error}");
    assert_eq!(gate.refused_idempotency_keys(), 1);
    assert!(gate.check(&once("a")).await.expect("an answer").replayed());
    assert_eq!(check(&gate, "user=a").await.verdict().remaining(), Some(7), "nothing was charged");
}
