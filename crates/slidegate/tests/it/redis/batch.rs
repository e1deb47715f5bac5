//! Several requests that are decided together: all are admitted, or none is charged.

use std::sync::Arc;

use slidegate::store::MAX_LIMITS;
use slidegate::telemetry::{RequestCounts, Telemetry, TelemetrySettings};
use slidegate::{BatchItem, Fallback, GateError, Memory, OnStoreError, Redis, RequestError, Source, Store};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::redis::batches::{Timed, all, back, check, limit, over_both, render, timed};
use crate::redis::stores::patient;

const RULES: &str = "
  - { name: user, match: { user: { prefix: '' } }, key: [user], limits: [2/min] }
  - { name: org, match: { org: { prefix: '' } }, key: [org], limits: [5/min, 9/h] }
";

#[tokio::test]
async fn a_refusal_of_one_leaves_the_others_uncharged() {
    async fn test<S: Store>(gate: &Timed<S>) {
        let both = [check("user=alice", 1), check("org=acme", 2)];
        assert_eq!(render(gate, &both).await, "yes: fits user-2/min 1 | fits org-5/min 3 org-9/h 7");
        assert_eq!(render(gate, &both).await, "yes: fits user-2/min 0 | fits org-5/min 1 org-9/h 5");
        let refused = "no: over user-2/min 0 wait 60000 | over org-5/min 1 wait 60000 org-9/h 5";
        assert_eq!(render(gate, &both).await, refused);
        let one = [check("user=bob", 1), check("org=acme", 2)];
        let refused = "no: fits user-2/min 2 | over org-5/min 1 wait 60000 org-9/h 5";
        assert_eq!(render(gate, &one).await, refused);
        let never = [check("org=acme", 6), check("user=bob", 0)];
        assert_eq!(
            render(gate, &never).await,
            "no: over org-5/min 1 never org-9/h 5 wait 3600000 | fits user-2/min 2"
        );
        // What was only asked for together has left no trace.
        assert_eq!(render(gate, &[check("user=bob", 2)]).await, "yes: fits user-2/min 0");
        assert_eq!(render(gate, &[check("org=acme", 1)]).await, "yes: fits org-5/min 0 org-9/h 4");
    }
    over_both!(RULES, test);
}

#[tokio::test]
async fn what_no_rule_is_for_passes_and_nothing_at_all_does_too() {
    async fn test<S: Store>(gate: &Timed<S>) {
        assert_eq!(render(gate, &[]).await, "yes: ");
        assert_eq!(
            render(gate, &[check("path=/", 1), check("user=eve", 1)]).await,
            "yes: fits | fits user-2/min 1"
        );
    }
    over_both!(RULES, test);
}

#[tokio::test]
async fn costs_to_the_same_subject_add_up() {
    async fn test<S: Store>(gate: &Timed<S>) {
        let twice = [check("org=acme", 2), check("org=acme", 2)];
        let left = "fits org-5/min 1 org-9/h 5";
        assert_eq!(render(gate, &twice).await, format!("yes: {left} | {left}"));
        // Each by itself would fit.
        let refused = "over org-5/min 1 wait 60000 org-9/h 5";
        assert_eq!(
            render(gate, &[check("org=acme", 1), check("org=acme", 1)]).await,
            format!("no: {refused} | {refused}")
        );
        // No sum is too large to be refused.
        let huge = [check("user=zoe", u64::MAX), check("user=zoe", u64::MAX)];
        assert_eq!(render(gate, &huge).await, "no: over user-2/min 2 never | over user-2/min 2 never");
        // A request that two rules are for, and one of them again.
        let demands = [check("user=bob org=big", 1), check("user=bob", 1), check("user=bob", 0)];
        assert_eq!(
            render(gate, &demands).await,
            "yes: fits user-2/min 0 org-5/min 4 org-9/h 8 | fits user-2/min 0 | fits user-2/min 0"
        );
    }
    over_both!(RULES, test);
}

/// The lower quota holds where one subject is asked about under two.
#[tokio::test]
async fn of_two_quotas_the_lower_one_decides() {
    let rules = "  - { name: api, key: [user], limits: [2/min], tiers: { gold: [9/min] } }\n";
    async fn test<S: Store>(gate: &Timed<S>) {
        let (plain, gold) = (|cost| check("user=alice", cost), |cost| check("user=alice tier=gold", cost));
        assert!(all(gate, &[gold(3)]).await.is_allowed());
        for demands in [[plain(1), gold(1)], [gold(1), plain(1)]] {
            assert!(!all(gate, &demands).await.is_allowed());
        }
        assert_eq!(render(gate, &[gold(6)]).await, "yes: fits api-9/min 0");
    }
    over_both!(rules, test);
}

#[tokio::test]
async fn what_is_barred_refuses_all_and_the_others_only_look() {
    let rules = "
  - { name: user, key: [user], limits: [2/min], deny: [{ user: mallory }], missing: deny }
  - { name: seen, key: [user], limits: [1/min], mode: observe }
";
    async fn test<S: Store>(gate: &Timed<S>) {
        assert_eq!(render(gate, &[check("user=bob", 1)]).await, "yes: fits user-2/min 1 (seen seen-1/min 0)");
        let demands = [check("user=alice", 1), check("user=mallory", 1), check("user=bob", 2)];
        let refused = "no: fits user-2/min 2 | over user DenyList | over user-2/min 1";
        for _ in 0..3 {
            assert_eq!(render(gate, &demands).await, refused);
        }
        assert_eq!(
            render(gate, &[check("org=x", 1), check("user=bob", 1)]).await,
            "no: over user MissingKey | fits user-2/min 1"
        );
        assert_eq!(
            render(gate, &[BatchItem::Refuse, check("user=bob", 1)]).await,
            "no: over | fits user-2/min 1"
        );
        assert_eq!(
            render(gate, &[check("user=bob", 1)]).await,
            "yes: fits user-2/min 0 (seen seen-1/min 0 wait 60000)"
        );
    }
    over_both!(rules, test);
}

#[tokio::test]
async fn a_limit_that_comes_along_takes_the_place_of_the_rules() {
    async fn test<S: Store>(gate: &Timed<S>) {
        let own = |cost| limit("user=alice", "3/min", cost);
        assert_eq!(
            render(gate, &[own(2), check("user=alice", 1)]).await,
            "yes: fits 3/min 1 | fits user-2/min 1"
        );
        assert_eq!(
            render(gate, &[own(2), check("user=alice", 1)]).await,
            "no: over 3/min 1 wait 60000 | fits user-2/min 1"
        );
        assert_eq!(render(gate, &[own(0)]).await, "yes: fits 3/min 1");
        // Its quota may change from one request to the next, and its history stays.
        assert_eq!(render(gate, &[limit("user=alice", "9/min", 1)]).await, "yes: fits 9/min 6");
        // Neither rules nor limits of single requests share anything with it.
        let apart = gate.limit("user=alice", "3/min".parse().expect("a limit"), 3).await.expect("an answer");
        assert!(apart.is_allowed());
        let answers = all(gate, &[own(0), check("user=alice", 0)]).await;
        let rules: Vec<_> =
            answers.items().filter_map(|one| one.tightest()).map(|limit| limit.rule).collect();
        assert_eq!(rules, [None, Some("user")]);
    }
    over_both!(RULES, test);
}

const GIVES_BACK: &str = "
  - { name: tokens, key: [user], limits: [10/min, 20/h], refundable: true }
  - { name: calls, key: [user], limits: [8/min] }
  - { name: seen, key: [user], limits: [6/min], refundable: true, mode: observe }
";

#[tokio::test]
async fn units_are_returned_where_the_rule_allows_it() {
    async fn test<S: Store>(gate: &Timed<S>) {
        let left = |tokens, hour, calls, observed: u64| {
            format!(
                "fits tokens-10/min {tokens} tokens-20/h {hour} calls-8/min {calls} (seen seen-6/min {observed})"
            )
        };
        let yes = |numbers: String| format!("yes: {numbers}");
        assert_eq!(render(gate, &[check("user=alice", 5)]).await, yes(left(5, 15, 3, 1)));
        assert_eq!(render(gate, &[back("user=alice", 2)]).await, yes(left(7, 17, 3, 3)));
        assert_eq!(render(gate, &[back("user=alice", 0)]).await, yes(left(7, 17, 3, 3)));
        // Never more than was charged.
        assert_eq!(render(gate, &[back("user=alice", 99)]).await, yes(left(10, 20, 3, 6)));
        assert_eq!(render(gate, &[back("user=nobody", 1)]).await, yes(left(10, 20, 8, 6)));
    }
    over_both!(GIVES_BACK, test);
}

#[tokio::test]
async fn nothing_is_returned_unless_all_is_admitted() {
    async fn test<S: Store>(gate: &Timed<S>) {
        all(gate, &[check("user=alice", 5)]).await;
        let refused = all(gate, &[back("user=alice", 5), check("user=bob", 9)]).await;
        assert!(!refused.is_allowed());
        let left = async || {
            let answers = all(gate, &[check("user=alice", 0)]).await;
            answers.verdict().remaining()
        };
        assert_eq!(left().await, Some(3));
        let barred = all(gate, &[back("user=alice", 5), BatchItem::Refuse]).await;
        assert!(!barred.is_allowed());
        let tokens = async || {
            let answers = all(gate, &[check("user=alice", 0)]).await;
            answers.verdict().decisions[0].remaining
        };
        assert_eq!(tokens().await, 5);
        assert!(all(gate, &[back("user=alice", 5), check("user=bob", 8)]).await.is_allowed());
        assert_eq!((tokens().await, left().await), (10, Some(3)));
    }
    over_both!(GIVES_BACK, test);
}

#[tokio::test]
async fn observed_rules_decide_only_if_all_is_admitted() {
    let rules = "
  - { name: hard, match: { org: { prefix: '' } }, key: [org], limits: [1/min] }
  - { name: one, key: [user], limits: [2/min], mode: observe }
";
    async fn test<S: Store>(gate: &Timed<S>) {
        let twice = [check("user=alice", 1), check("user=alice org=x", 1)];
        assert_eq!(
            render(gate, &twice).await,
            "yes: fits (seen one-2/min 1) | fits hard-1/min 0 (seen one-2/min 0)"
        );
        assert_eq!(render(gate, &twice).await, "no: fits | over hard-1/min 0 wait 60000");
        assert_eq!(render(gate, &[check("user=alice", 1)]).await, "yes: fits (seen one-2/min 0 wait 60000)");
    }
    over_both!(rules, test);
}

#[tokio::test]
async fn slots_are_charged_once_for_each() {
    let rules = "  - { name: slots, key: [user], limits: [{ in_flight: 3, hold: 30s }] }\n";
    async fn test<S: Store>(gate: &Timed<S>) {
        let two = [check("user=alice", 1), check("user=alice", 1)];
        let left = |left| format!("fits slots-3-in-flight-for-30s {left}");
        assert_eq!(render(gate, &two).await, format!("yes: {} | {}", left(1), left(1)));
        assert!(!all(gate, &two).await.is_allowed());
        assert_eq!(render(gate, &two[..1]).await, format!("yes: {}", left(0)));
    }
    over_both!(rules, test);
}

#[tokio::test]
async fn there_are_at_most_so_many_limits() {
    let gate = timed(RULES, Memory::default());
    let users: Vec<String> = (0..=MAX_LIMITS).map(|n| format!("user={n}")).collect();
    let demands: Vec<BatchItem<'_>> = users.iter().map(|user| check(user, 1)).collect();
    let one_more = gate.check_all(&demands).await;
    let limits = MAX_LIMITS + 1;
    let Err(GateError::Request(error)) = one_more else { panic!("{one_more:?}") };
    assert_eq!(error, RequestError::TooManyLimits { limits });
    assert!(all(&gate, &demands[1..]).await.is_allowed());
    let not_an_address = timed("  - { name: ip, key: [ip], limits: [1/s] }\n", Memory::default());
    let error = not_an_address.check_all(&[check("ip=1.1.1.1", 1), check("ip=x", 1)]).await;
    assert!(matches!(error, Err(GateError::Request(RequestError::NotAnAddress { .. }))), "{error:?}");
}

#[tokio::test]
async fn without_the_store_every_rule_says_what_holds() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let rules = "
  - { name: local, match: { path: /local }, limits: [4/h] }
  - { name: allow, match: { path: /allow }, limits: [4/h], on_store_error: allow }
  - { name: deny, match: { path: /deny }, limits: [4/h], on_store_error: deny }
";
    let store = Fallback::new(Redis::by_callers_clock(&patient(&server.url())), 4);
    let observer = Arc::new(Telemetry::new(TelemetrySettings::default()));
    let gate = timed(rules, store.rule("allow", OnStoreError::Allow).rule("deny", OnStoreError::Deny))
        .observe(Arc::clone(&observer));
    let (local, allow, deny) = (check("path=/local", 1), check("path=/allow", 1), check("path=/deny", 1));
    server.kill();
    let answers = all(&gate, &[local.clone(), allow.clone()]).await;
    assert!(answers.is_allowed() && answers.verdict().source == Source::Assumed);
    assert_eq!(answers.unanswered(), None);
    // Refused by this node's share, which is an answer.
    let answers = all(&gate, &[local.clone(), allow]).await;
    assert_eq!((answers.is_allowed(), answers.unanswered()), (false, None));
    let answers = all(&gate, &[local, deny.clone()]).await;
    assert_eq!((answers.is_allowed(), answers.unanswered()), (false, Some("deny")));
    let RequestCounts { allowed, denied, failed, .. } = observer.requests();
    assert_eq!((allowed, denied, failed), (1, 1, 1));
    let denied = observer.series().iter().find(|line| &*line.rule == "deny").map(|line| line.enforced.denied);
    assert_eq!(denied, Some(0), "nothing was denied by a limit that nobody looked at");
    // What is refused anyhow is refused without the store.
    let answers = all(&gate, &[BatchItem::Refuse, deny]).await;
    assert_eq!((answers.is_allowed(), answers.unanswered()), (false, None));
    assert_eq!(observer.requests().blocked, 1);
}
