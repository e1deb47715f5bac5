//! Subjects by their attributes: to look at one charges nothing, and a reset is a fresh start for
//! that one alone.

use std::fmt::Write;
use std::time::Duration;

use slidegate::{
    CheckRequest, Fallback, Gate, ManualClock, Memory, OnStoreError, Redis, RequestError, Source, Store,
};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::gates::{START_MS, policy, request};
use crate::redis::stores::patient;

type Timed<S> = Gate<S, ManualClock>;

const RULES: &str = "
  - { name: login, match: { path: /login }, key: [user], limits: [2/min, 5/h] }
  - name: search
    match: { path: /search }
    key: ['api_key|ip', org]
    limits: [3/s]
    overrides: [{ when: { org: big }, limits: [30/s] }]
    tiers: { gold: [7/min] }
    deny: [{ org: bad }]
    allow: [{ org: own }]
  - { name: all, limits: [100/min] }
  - { name: watched, key: [ip], limits: [{ in_flight: 1, hold: 30s }], mode: observe }
";

/// A gate in memory, and one over every server.
struct Gates {
    memory: (Timed<Memory>, ManualClock),
    redis: Vec<(RedisServer, Timed<Fallback<Redis>>, ManualClock)>,
}

fn timed<S: Store>(rules: &str, store: S) -> (Timed<S>, ManualClock) {
    let clock = ManualClock::new(START_MS);
    (Gate::new(policy(rules), store).clock(clock.clone()), clock)
}

/// `remembered` is how long denials are repeated, in real time.
fn gates(rules: &str, remembered: Duration) -> Gates {
    let over = |flavour| {
        let server = RedisServer::start(flavour);
        let remembers = patient(&server.url()).deny_cache(remembered);
        let redis = Fallback::new(Redis::by_callers_clock(&remembers), 1);
        let (gate, clock) = timed(rules, redis);
        (server, gate, clock)
    };
    Gates { memory: timed(rules, Memory::default()), redis: Flavour::all().into_iter().map(over).collect() }
}

/// Runs the same over every store.
macro_rules! everywhere {
    ($rules:expr, $test:ident) => {
        everywhere!($rules, $test, Duration::ZERO);
    };
    ($rules:expr, $test:ident, $remembered:expr) => {
        let Gates { memory: (gate, clock), redis } = gates($rules, $remembered);
        $test(&gate, &clock).await;
        for (_server, gate, clock) in &redis {
            $test(gate, clock).await;
        }
    };
}

async fn passes<S: Store>(gate: &Timed<S>, attributes: &str) -> bool {
    gate.check(&CheckRequest::from(request(attributes))).await.expect("an answer").is_allowed()
}

/// What a look finds: `login user=alice: 2/min 1 used 1 left, …`.
async fn inspect_lines<S: Store>(gate: &Timed<S>, rule: Option<&str>, attributes: &str) -> Vec<String> {
    let looked = gate.inspect(rule, &request(attributes)).await.expect("a look");
    let lines = looked.iter().map(|one| {
        let mut text = one.rule().to_owned();
        for part in one.key() {
            let value = part.value.as_deref().unwrap_or("missing");
            write!(text, " {}={value}", part.attribute).expect("room");
        }
        assert_eq!(one.source(), Source::Store);
        for limit in one.limits() {
            let (used, left) = (limit.used.expect("known"), limit.remaining.expect("known"));
            write!(text, ", {} {used}+{left}", limit.text).expect("room");
            if let Some(ms) = limit.retry_after_ms {
                write!(text, " wait {ms}").expect("room");
            }
            if limit.reset_after_ms != Some(0) {
                write!(text, " reset {}", limit.reset_after_ms.expect("known")).expect("room");
            }
        }
        text
    });
    lines.collect()
}

#[tokio::test]
async fn a_look_says_all_and_charges_nothing() {
    async fn test<S: Store>(gate: &Timed<S>, clock: &ManualClock) {
        let alice = "path=/login user=alice";
        assert_eq!(inspect_lines(gate, None, alice).await, ["login user=alice, 2/min 0+2, 5/h 0+5"]);
        assert!(passes(gate, alice).await);
        clock.advance_ms(10_000);
        assert!(passes(gate, alice).await);
        clock.advance_ms(5_000);
        for _ in 0..3 {
            let expected = ["login user=alice, 2/min 2+0 wait 45000 reset 55000, 5/h 2+3 reset 3595000"];
            assert_eq!(inspect_lines(gate, None, alice).await, expected);
        }
        // Attributes that the rule's `match` is not for name the same subject.
        assert_eq!(inspect_lines(gate, Some("login"), "user=alice path=/elsewhere").await.len(), 1);
        assert_eq!(
            inspect_lines(gate, Some("login"), "user=bob").await,
            ["login user=bob, 2/min 0+2, 5/h 0+5"]
        );
        // What was seen to wait so long passes then, and not before.
        clock.advance_ms(44_999);
        assert!(!passes(gate, alice).await);
        clock.advance_ms(1);
        assert!(passes(gate, alice).await);
    }
    everywhere!(RULES, test);
}

#[tokio::test]
async fn a_reset_is_a_fresh_start_for_that_subject_alone() {
    async fn test<S: Store>(gate: &Timed<S>, _: &ManualClock) {
        for attributes in ["path=/login user=alice", "path=/login user=bob"] {
            let statuses = [passes(gate, attributes).await, passes(gate, attributes).await];
            assert_eq!(statuses, [true, true]);
            // A denial that may be remembered.
            assert!(!passes(gate, attributes).await);
        }
        let everybody = inspect_lines(gate, Some("all"), "").await;
        let forgotten = gate.reset(None, &request("user=alice")).await.expect("a reset");
        let [one] = &forgotten[..] else { panic!("{forgotten:?}") };
        assert_eq!((one.rule.as_str(), one.limits.join(" ").as_str()), ("login", "2/min 5/h"));
        assert_eq!(one.key[0].value.as_deref(), Some("alice"));
        assert_eq!(inspect_lines(gate, None, "user=alice").await, ["login user=alice, 2/min 0+2, 5/h 0+5"]);
        let bob = inspect_lines(gate, None, "user=bob").await;
        assert!(bob[0].starts_with("login user=bob, 2/min 2+0 wait "), "{bob:?}");
        assert_eq!(inspect_lines(gate, Some("all"), "").await, everybody);
        assert!(passes(gate, "path=/login user=alice").await);
        assert!(!passes(gate, "path=/login user=bob").await);
    }
    everywhere!(RULES, test, Duration::from_secs(60));
}

/// Whoever watches a subject that is refused all the time does not send it back to the server.
#[tokio::test]
async fn a_look_leaves_denials_remembered() {
    let Gates { redis, .. } = gates(RULES, Duration::from_secs(60));
    for (_server, gate, _) in &redis {
        let alice = CheckRequest::from(request("path=/login user=alice"));
        let source = async || gate.check(&alice).await.expect("an answer").verdict().source;
        for expected in [Source::Store, Source::Store, Source::Store, Source::Cache] {
            assert_eq!(source().await, expected);
        }
        let looked = inspect_lines(gate, None, "user=alice").await;
        assert_eq!(looked, ["login user=alice, 2/min 2+0 wait 60000 reset 60000, 5/h 2+3 reset 3600000"]);
        assert_eq!(source().await, Source::Cache);
    }
}

#[tokio::test]
async fn all_sets_of_limits_of_the_rule_are_reset() {
    async fn test<S: Store>(gate: &Timed<S>, _: &ManualClock) {
        let used = ["path=/search ip=10.0.0.1 org=x", "path=/search ip=10.0.0.1 org=x tier=gold"];
        for attributes in used {
            assert!(passes(gate, attributes).await);
        }
        let forgotten = gate.reset(Some("search"), &request(used[0])).await.expect("a reset");
        assert_eq!(forgotten[0].limits, ["3/s", "30/s", "7/min"]);
        for attributes in used {
            let [one] = &inspect_lines(gate, Some("search"), attributes).await[..] else { panic!("one") };
            assert!(one.starts_with("search ip=10.0.0.1 org=x, "), "{one}");
            assert!(one.contains(" 0+"), "{one}");
        }
    }
    everywhere!(RULES, test);
}

#[tokio::test]
async fn which_subjects_attributes_name() {
    async fn test<S: Store>(gate: &Timed<S>, _: &ManualClock) {
        let rows: [(Option<&str>, &str, &[&str]); 10] = [
            (None, "", &[]),
            (None, "user=alice org=x", &["login user=alice, 2/min 0+2, 5/h 0+5"]),
            (
                None,
                "ip=::ffff:10.0.0.1 org=x",
                &["search ip=10.0.0.1 org=x, 3/s 0+3", "watched ip=10.0.0.1, 1 in flight for 30s 0+1"],
            ),
            (Some("search"), "api_key=k ip=10.0.0.1 org=x", &["search api_key=k org=x, 3/s 0+3"]),
            (Some("search"), "api_key=k org=big", &["search api_key=k org=big, 30/s 0+30"]),
            (Some("search"), "api_key=k org=x tier=gold", &["search api_key=k org=x, 7/min 0+7"]),
            // What requests without it share, and what everybody shares: by name only.
            (Some("search"), "org=x", &["search api_key|ip=missing org=x, 3/s 0+3"]),
            (Some("all"), "user=alice", &["all, 100/min 0+100"]),
            (Some("login"), "ip=10.0.0.1", &["login user=missing, 2/min 0+2, 5/h 0+5"]),
            (Some("nobody"), "user=alice", &[]),
        ];
        for (rule, attributes, expected) in rows {
            assert_eq!(inspect_lines(gate, rule, attributes).await, expected, "{rule:?} {attributes}");
            let forgotten = gate.reset(rule, &request(attributes)).await.expect("a reset");
            assert_eq!(forgotten.len(), expected.len(), "{rule:?} {attributes}");
        }
    }
    everywhere!(RULES, test);
}

#[tokio::test]
async fn the_treatment_by_the_rule_is_reported_too() {
    let (gate, _) = timed(RULES, Memory::default());
    let look = async |attributes: &str| {
        let looked = gate.inspect(None, &request(attributes)).await.expect("a look");
        looked.iter().map(|one| format!("{:?} {:?} {}", one.mode(), one.listed(), one.applies_to())).collect()
    };
    let rows: [(&str, &[&str]); 5] = [
        ("user=a", &["Enforce None all requests"]),
        ("api_key=k org=bad", &["Enforce Some(Deny) all others"]),
        ("api_key=k org=own", &["Enforce Some(Allow) all others"]),
        ("api_key=k org=big tier=gold", &["Enforce None org is big"]),
        ("ip=::1 org=x tier=gold", &["Enforce None tier is gold", "Observe None all requests"]),
    ];
    for (attributes, expected) in rows {
        let lines: Vec<String> = look(attributes).await;
        assert_eq!(lines, expected, "{attributes}");
    }
}

#[tokio::test]
async fn what_is_no_address_is_an_error() {
    let (gate, _) = timed(RULES, Memory::default());
    let error = gate.inspect(None, &request("ip=nowhere")).await.expect_err("no address");
    let expected = RequestError::NotAnAddress { attribute: "ip".to_owned(), value: "nowhere".to_owned() };
    assert_eq!(error.to_string(), expected.to_string());
}

/// Of every kind: how long it has to wait is what a request that is refused is told, and looks
/// leave no trace.
#[tokio::test]
async fn waits_are_those_of_a_refusal() {
    async fn test<S: Store>(gate: &Timed<S>, clock: &ManualClock) {
        for (kind, cost) in [("log", 3), ("counter", 3), ("fixed", 3), ("gcra", 2), ("in_flight", 1)] {
            let ask = CheckRequest::from(request("user=alice").cost(cost));
            let filled = gate.check_rule(kind, &ask).await.expect("an answer").expect("a rule");
            assert!(filled.is_allowed(), "{kind}");
            clock.advance_ms(1_234);
            let looks = [
                inspect_lines(gate, Some(kind), "user=alice").await,
                inspect_lines(gate, Some(kind), "user=alice").await,
            ];
            assert_eq!(looks[0], looks[1]);
            let looked = gate.inspect(Some(kind), &request("user=alice")).await.expect("a look");
            let waits: Vec<_> = looked[0]
                .limits()
                .map(|limit| (limit.retry_after_ms, limit.retry_after_at_most_ms))
                .collect();
            let one = CheckRequest::from(request("user=alice"));
            let refused = gate.check_rule(kind, &one).await.expect("an answer").expect("a rule");
            assert!(!refused.is_allowed(), "{kind}");
            let wait = refused.summary().wait;
            assert_eq!(waits, [(wait.exact_ms(), wait.at_most_ms())], "{kind}");
            assert_eq!(wait.at_most_ms().is_some(), kind == "in_flight");
        }
    }
    const KINDS: &str = "
  - { name: log, key: [user], limits: [3/min] }
  - { name: counter, key: [user], limits: [{ quota: 3, window: 1min, algorithm: counter }] }
  - { name: fixed, key: [user], limits: [{ quota: 3, window: 1h, algorithm: fixed }] }
  - { name: gcra, key: [user], limits: [{ quota: 3, window: 1min, algorithm: gcra, burst: 2 }] }
  - { name: in_flight, key: [user], limits: [{ in_flight: 1, hold: 30s }] }
";
    everywhere!(KINDS, test);
}

/// A store that does not answer is not looked into, and nothing is said to be reset that is not.
#[tokio::test]
async fn without_the_store_a_look_says_so_and_a_reset_fails() {
    let mut server = RedisServer::start(Flavour::Redis70);
    let (gate, _) = timed(
        "
  - { name: local, key: [user], limits: [4/h] }
  - { name: allow, key: [user], limits: [4/h], on_store_error: allow }
",
        Fallback::new(Redis::by_callers_clock(&patient(&server.url())), 2).rule("allow", OnStoreError::Allow),
    );
    assert!(passes(&gate, "user=alice").await);
    server.kill();
    let looked = gate.inspect(None, &request("user=alice")).await.expect("a look");
    let sources: Vec<_> = looked.iter().map(|one| (one.rule(), one.source())).collect();
    assert_eq!(sources, [("local", Source::Local), ("allow", Source::Assumed)]);
    let left = |at: usize| looked[at].limits().next().map(|limit| (limit.used, limit.remaining));
    // One of its share of two is left; how much all nodes have used nobody knows.
    assert_eq!(left(0), Some((None, Some(1))));
    assert_eq!(left(1), Some((None, None)));
    gate.reset(None, &request("user=alice")).await.expect_err("nothing was reset");
}

/// A rule with as many limits as there may be is looked at too, and one with more of them in all is
/// reset.
#[tokio::test]
async fn many_limits_and_many_sets_of_them() {
    let limits = |most: u32| (1..=most).map(|n| format!("{n}/{n}min")).collect::<Vec<_>>().join(", ");
    let tiers: Vec<String> = (1..=40).map(|n| format!("t{n}: [{n}/{n}h]")).collect();
    let rules = format!(
        "  - {{ name: most, key: [user], limits: [{}] }}
  - {{ name: tiers, key: [org], limits: [{}], tiers: {{ {} }} }}\n",
        limits(32),
        limits(10),
        tiers.join(", ")
    );
    let (gate, _) = timed(&rules, Memory::default());
    let used = async |attributes: &str| {
        let looked = gate.inspect(None, &request(attributes)).await.expect("a look");
        looked[0].limits().map(|limit| limit.used.expect("known")).collect::<Vec<_>>()
    };
    let ask = async |rule: &str, attributes: &str| {
        let answer = gate.check_rule(rule, &CheckRequest::from(request(attributes))).await;
        answer.expect("an answer").expect("a rule").is_allowed()
    };
    assert!(ask("most", "user=alice").await && !ask("most", "user=alice").await);
    assert_eq!(used("user=alice").await, [1; 32]);
    for tier in ["org=x", "org=x tier=t1", "org=x tier=t40"] {
        assert!(ask("tiers", tier).await, "{tier}");
        assert!(used(tier).await.iter().all(|used| *used == 1), "{tier}");
    }
    let forgotten = gate.reset(None, &request("user=alice org=x")).await.expect("a reset");
    assert_eq!(forgotten.iter().map(|one| one.limits.len()).collect::<Vec<_>>(), [32, 50]);
    for attributes in ["user=alice", "org=x", "org=x tier=t1", "org=x tier=t40"] {
        assert!(used(attributes).await.iter().all(|used| *used == 0), "{attributes}");
    }
}

/// Debts of settlements, and what a lowered quota leaves, are more than the quota: a look tells all
/// of it.
#[tokio::test]
async fn use_beyond_the_quota_is_reported() {
    const LIMITS: [&str; 4] = [
        "5/min",
        "{ quota: 5, window: 1h, algorithm: counter }",
        "{ quota: 5, window: 1day, algorithm: fixed }",
        "{ quota: 90000, window: 2h, resolution: 1s }",
    ];
    async fn test<S: Store>(gate: &Timed<S>, _: &ManualClock) {
        let used = async || {
            let looked = gate.inspect(None, &request("user=alice")).await.expect("a look");
            looked[0].limits().map(|limit| limit.used.expect("known")).collect::<Vec<_>>()
        };
        let answer = gate.check(&CheckRequest::from(request("user=alice"))).await.expect("an answer");
        assert_eq!(used().await, [1, 1, 1, 1]);
        gate.settle(&gate.permit(&answer).expect("a permit"), 1_000_000).await.expect("settled");
        for _ in 0..2 {
            assert_eq!(used().await, [1_000_000; 4]);
            let alone = gate.used("lent", &request("user=alice")).await.expect("a look");
            assert_eq!(alone, Some(vec![1_000_000; 4]));
        }
        assert!(!passes(gate, "user=alice").await);
    }
    let rules = format!("- {{ name: lent, key: [user], refundable: true, limits: [{}] }}", LIMITS.join(", "));
    everywhere!(&rules, test);
}
