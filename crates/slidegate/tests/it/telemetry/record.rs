//! What an observer sees, case by case.

use std::sync::{Arc, Mutex};
use std::thread;

use slidegate::policy::HitMode;
use slidegate::policy::file::Percent;
use slidegate::telemetry::{Denial, MAX_SERIES, Subjects, Telemetry, TelemetrySettings, TimingMode};
use slidegate::{BatchItem, CheckRequest, Gate, Limit, ManualClock, Memory};

use crate::gates::{self, Gated, START_MS, check, gate, policy, request};

fn observed(rules: &str) -> (Gated, ManualClock, Arc<Telemetry>) {
    let (gate, clock) = gate(rules);
    let observer = Arc::new(Telemetry::new(TelemetrySettings::default()));
    (gate.observe(Arc::clone(&observer)), clock, observer)
}

/// All lines, those of limits with what they said: `login-5/min /login enforced 5 allowed 1 denied
/// 1 near`.
fn lines(observer: &Telemetry) -> Vec<String> {
    let lines = observer.series().into_iter().map(|line| {
        let mut words = vec![line.limit.to_string(), line.route.to_string()];
        for (mode, counts) in [("enforced", line.enforced), ("observed", line.observed)] {
            let each = [
                (counts.allowed, "allowed"),
                (counts.denied, "denied"),
                (counts.uncharged, "uncharged"),
                (counts.peeked, "peeked"),
                (counts.near_misses, "near"),
            ];
            let each: Vec<String> =
                each.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
            if !each.is_empty() {
                words.push(format!("{mode} {}", each.join(" ")));
            }
        }
        words.retain(|word| !word.is_empty());
        words.join(" ")
    });
    lines.collect()
}

#[tokio::test]
async fn every_limit_has_its_line() {
    let (gate, _, observer) = observed(
        "
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min, 20/h], tiers: { gold: [9/s] } }
  - { name: all, mode: observe, limits: [1/min] }
",
    );
    for _ in 0..4 {
        check(&gate, "path=/login ip=192.0.2.1").await;
    }
    gates::ask(&gate, &CheckRequest::from(request("path=/login ip=192.0.2.1").cost(0))).await;
    let expected = [
        // The second of two leaves nothing.
        "login-2/min /login enforced 2 allowed 2 denied 1 peeked 1 near",
        "login-20/h /login enforced 2 allowed 2 uncharged 1 peeked",
        "login-9/s /login",
        // What is refused by another rule is nothing to one that looks on.
        "all-1/min observed 1 allowed 1 denied 1 peeked 1 near",
    ];
    assert_eq!(lines(&observer), expected);
    let requests = observer.requests();
    assert_eq!((requests.allowed, requests.denied, requests.peeked, requests.would_deny), (2, 2, 1, 1));
}

/// Rule, key and requests without it.
fn without_key(observer: &Telemetry) -> Vec<(String, String, u64)> {
    let all = observer.without_key().into_iter();
    all.map(|one| (one.rule.to_string(), one.key.to_string(), one.requests)).collect()
}

#[tokio::test]
async fn requests_that_share_a_subject_are_counted_by_rule() {
    let rules = "
  - { name: one, key: [api_key], limits: [9/min], missing: shared }
  - { name: both, key: [org, api_key|ip], limits: [9/min, 9/h], missing: shared, mode: observe }
  - { name: skip, key: [user], limits: [9/min], missing: skip }
  - { name: deny, match: { path: /d }, key: [user], limits: [9/min], missing: deny }
  - { name: all, limits: [9/min] }
";
    let (gate, _, observer) = observed(rules);
    let expected = |one, both| {
        let texts = [("one", "api_key", one), ("both", "org, api_key|ip", both)];
        texts.map(|(rule, key, count)| (rule.to_owned(), key.to_owned(), count))
    };
    assert_eq!(without_key(&observer), expected(0, 0));
    check(&gate, "api_key=k org=acme").await;
    assert_eq!(without_key(&observer), expected(0, 0));
    check(&gate, "org=acme ip=192.0.2.1").await;
    check(&gate, "api_key=k").await;
    check(&gate, "x=y").await;
    check(&gate, "path=/d x=y").await;
    // A request that is refused by `deny` is not decided by the others; an empty value is none.
    assert_eq!(without_key(&observer), expected(2, 2));
    // One alone, at once, and several in one call.
    let request_sent = request("org=acme ip=192.0.2.1");
    let answer = gate.check_now(&request_sent).expect("no error").expect("the state is in memory");
    assert!(answer.is_allowed());
    let demands = [BatchItem::Check(request("org=acme")), BatchItem::Check(request("api_key=k org=acme"))];
    gate.check_all(&demands).await.expect("an answer");
    assert_eq!(without_key(&observer), expected(4, 3));
    // A replay charges nothing, and is not counted.
    let ask = || CheckRequest {
        idempotency_key: Some("again".into()),
        ..CheckRequest::from(request("org=acme ip=192.0.2.1"))
    };
    gates::ask(&gate, &ask()).await;
    gates::ask(&gate, &ask()).await;
    assert_eq!(without_key(&observer), expected(5, 3));
    // Counts go on under the same name and key.
    gate.replace(policy(
        "  - { name: one, key: [api_key], limits: [1/min] }\n  - { name: both, key: [org], limits: [1/min] }",
    ));
    assert_eq!(
        without_key(&observer),
        [("one".into(), "api_key".into(), 5), ("both".into(), "org".into(), 0)]
    );
}

#[tokio::test]
async fn counts_survive_a_change_of_policy() {
    let one = "  - { name: a, limits: [5/min] }";
    let other = "  - { name: b, limits: [5/min] }\n  - { name: a, limits: [9/min] }";
    let (gate, _, observer) = observed(one);
    check(&gate, "user=alice").await;
    gate.replace(policy(other));
    check(&gate, "user=alice").await;
    let both = ["b-5/min enforced 1 allowed", "a-9/min enforced 1 allowed", "a-5/min enforced 1 allowed"];
    assert_eq!(lines(&observer), both);
    gate.replace(policy(one));
    check(&gate, "user=alice").await;
    assert_eq!(lines(&observer)[0], "a-5/min enforced 2 allowed");
    assert_eq!(lines(&observer).len(), 3);
}

#[tokio::test]
async fn routes_are_distinct_and_bounded() {
    let paths: Vec<String> = (0..40).map(|n| format!("/p{n}")).collect();
    let rule = format!("  - {{ name: a, match: {{ path: [{}] }}, limits: [1000/min] }}", paths.join(", "));
    let (gate, _, observer) = observed(&rule);
    for path in &paths {
        check(&gate, &format!("path={path}")).await;
    }
    let named =
        gate.check_rule("a", &CheckRequest::from(request("path=/elsewhere"))).await.expect("an answer");
    assert!(named.is_some());
    let lines = lines(&observer);
    assert_eq!(lines[0], "a-1000/min /p0 enforced 1 allowed");
    assert_eq!(lines[31], "a-1000/min /p31 enforced 1 allowed");
    assert_eq!(lines[32], "a-1000/min (other) enforced 8 allowed");
    assert_eq!(lines[33..], ["a-1000/min enforced 1 allowed"]);
}

#[tokio::test]
async fn lines_are_bounded() {
    let rules = |name: &str| -> String {
        (0..5_000).map(|n| format!("  - {{ name: {name}{n}, limits: [9/s] }}\n")).collect()
    };
    let (gate, _, observer) = observed(&rules("a"));
    gate.check_rule("a7", &CheckRequest::from(request(""))).await.expect("an answer");
    assert_eq!(observer.series().len(), 5_000);
    gate.replace(policy(&rules("b")));
    gate.check_rule("b4999", &CheckRequest::from(request(""))).await.expect("an answer");
    let lines = observer.series();
    assert!(lines.len() <= MAX_SERIES);
    // All of those that are in force, and of those that are gone the first.
    assert_eq!(lines[4_999].enforced.allowed, 1);
    assert_eq!((&*lines[5_007].rule, lines[5_007].enforced.allowed), ("a7", 1));
    let more: String = (0..9_000).map(|n| format!("  - {{ name: c{n}, limits: [9/s] }}\n")).collect();
    gate.replace(policy(&more));
    gate.check_rule("c8999", &CheckRequest::from(request(""))).await.expect("an answer");
    let lines = observer.series();
    assert!(lines.len() <= MAX_SERIES);
    let last = lines.last().expect("lines");
    assert_eq!((&*last.rule, last.enforced.allowed), ("(other)", 1));
}

/// A denial in one line: `login login-2/min enforced ip=192.0.2.1 cost 1 wait 60000 reset 60000 id
/// r1`.
fn render(denial: &Denial<'_>) -> String {
    let subject: Vec<String> = denial
        .subject()
        .iter()
        .map(|part| format!("{}={}", part.attribute, part.value.as_deref().unwrap_or("-")))
        .collect();
    let limit = denial.limit.map_or_else(|| format!("{:?}", denial.blocked), |limit| limit.to_string());
    let mode = if denial.mode == HitMode::Enforce { "enforced" } else { "observed" };
    format!(
        "{} {limit} {mode} {} cost {} wait {:?} reset {:?} id {:?} at {}",
        denial.naming.rule(),
        subject.join(" "),
        denial.cost,
        denial.retry_after_ms,
        denial.reset_after_ms,
        denial.request_id,
        denial.decided_at_ms - START_MS,
    )
}

#[tokio::test]
async fn every_rule_that_denies_is_recorded() {
    let (gate, clock, observer) = observed(
        "
  - { name: login, match: { path: /login }, key: [org, 'user|ip'], limits: [1/min, 2/h], deny: [{ user: mallory }] }
  - { name: all, key: [ip], limits: [1/s] }
  - { name: seen, mode: observe, limits: [1/min] }
",
    );
    let denials = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&denials);
    observer.on_denial(move |denial| log.lock().expect("no panic").push(render(denial)));
    let ask = async |attributes: &str, id| {
        gates::ask(&gate, &CheckRequest::from(request(attributes).with_id(id))).await;
        std::mem::take(&mut *denials.lock().expect("no panic"))
    };
    assert!(ask("path=/login ip=192.0.2.1 org=acme", "r1").await.is_empty());
    clock.advance_ms(400);
    assert_eq!(
        ask("path=/login ip=192.0.2.1 org=acme", "r2").await,
        [
            "login login-1/min enforced org=acme ip=192.0.2.1 cost 1 wait Some(59600) reset Some(3599600) id Some(\"r2\") at 400",
            "all all-1/s enforced ip=192.0.2.1 cost 1 wait Some(600) reset Some(600) id Some(\"r2\") at 400",
        ]
    );
    assert_eq!(
        ask("path=/other ip=192.0.2.2", "r3").await,
        ["seen seen-1/min observed  cost 1 wait Some(59600) reset Some(59600) id Some(\"r3\") at 400"]
    );
    assert_eq!(
        ask("path=/login user=mallory", "r4").await,
        [
            "login Some(DenyList) enforced org=- user=mallory cost 1 wait None reset None id Some(\"r4\") at 400"
        ]
    );
    // Nobody has named the parts of these keys.
    let limit: Limit = "1/s".parse().expect("a limit");
    let _ = gate.limit("k", limit, 7).await.expect("an answer");
    let _ = gate.limit_in(gate.ad_hoc(), ("acme", "bob"), limit, 7, Some("r5")).await.expect("an answer");
    let item = BatchItem::Limit { key: "k".into(), limit, cost: 7, id: Some("r6") };
    gate.check_all(&[item]).await.expect("an answer");
    let ad_hoc =
        |key, id| format!("(ad hoc) 1/s enforced {key} cost 7 wait None reset Some(0) id {id} at 400");
    assert_eq!(
        *denials.lock().expect("no panic"),
        [
            ad_hoc("key=k", "None"),
            ad_hoc("key1=acme key2=bob", "Some(\"r5\")"),
            ad_hoc("key=k", "Some(\"r6\")")
        ]
    );
}

#[tokio::test]
async fn settings_change_at_once() {
    let (gate, _, observer) = observed("  - { name: a, key: [user], limits: [10/min] }");
    for _ in 0..6 {
        check(&gate, "user=alice").await;
    }
    assert_eq!(lines(&observer), ["a-10/min enforced 6 allowed"]);
    let settings = TelemetrySettings { near_miss: Percent(3_000), subjects: Subjects::Hashed };
    observer.set(settings);
    assert_eq!(observer.settings(), settings);
    // Three are left, which are 30 %.
    check(&gate, "user=alice").await;
    assert_eq!(lines(&observer), ["a-10/min enforced 7 allowed 1 near"]);
    let list = observer.near().list(10, START_MS);
    let subject = &list.entries[0].subject[0];
    let value = subject.value.as_deref().expect("a value");
    assert_eq!((&*subject.attribute, value.len(), list.entries[0].count), ("user", 16, 1));
    assert!(value.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn a_sample_is_timed_or_every_one() {
    for (timed, expected) in [(TimingMode::Sample, 10), (TimingMode::Each, 170)] {
        let observer = Telemetry::new(TelemetrySettings::default()).timed(timed);
        for _ in 0..170 {
            observer.finish(observer.start());
        }
        assert_eq!(observer.latency().count(), expected);
    }
}

#[test]
fn threads_count_without_losing_any() {
    let observer = Arc::new(Telemetry::new(TelemetrySettings::default()));
    let rules = policy("  - { name: a, key: [user], limits: [1000/min] }");
    let gate = Gate::new(rules, Memory::default()).observe(Arc::clone(&observer));
    let gate = &gate;
    thread::scope(|scope| {
        for user in 0..50_u32 {
            scope.spawn(move || {
                let user = user.to_string();
                for _ in 0..1_100 {
                    let request_sent = slidegate::Request::new().with("user", &*user);
                    let answer = gate.check_now(&request_sent).expect("no error");
                    assert!(answer.is_some(), "the state is in memory");
                }
            });
        }
    });
    let requests = observer.requests();
    assert_eq!((requests.allowed, requests.denied), (50_000, 5_000));
    let [line] = &observer.series()[..] else { panic!("one line") };
    // 950 to 1,000 of 1,000 are near: 51 of each.
    assert_eq!(
        (line.enforced.allowed, line.enforced.denied, line.enforced.near_misses),
        (50_000, 5_000, 2_550)
    );
    assert_eq!(observer.denied().list(100, gate.now_ms()).total, 5_000);
}
