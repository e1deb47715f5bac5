//! The denial log: a line for every denial, as many as are allowed, and what was left out.

use std::time::{Duration, Instant};

use serde_json::json;
use slidegate_testkit::log_lines::LogLines;

use crate::http::service::{BOTH, Kind, Service};

const RULES: &str = "
rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [2/min, 100/h] }
  - { name: watched, match: { path: /watched }, key: [ip], limits: [1/min], mode: observe }
  - { name: closed, match: { path: /closed }, key: [ip], limits: [1/min], deny: [{ ip: 203.0.113.66 }] }
  - { name: named, match: { path: /named }, key: [user], limits: [1/min], missing: deny }
  - { name: soon, match: { path: /soon }, key: [user], limits: [1/min], missing: deny, mode: observe }
";

/// Lines come from a thread of their own: waits for so many, and for no more than that.
async fn wait_for(lines: &LogLines, count: usize) -> Vec<String> {
    let deadline = Instant::now() + Duration::from_secs(10);
    let mut found = Vec::new();
    while found.len() < count {
        assert!(Instant::now() < deadline, "{count} lines, not {found:#?}");
        found.extend(lines.take());
        tokio::task::yield_now().await;
    }
    assert_eq!(found.len(), count, "{found:#?}");
    found
}

/// A line says which rule and limit refused whom, and when it is worth to come again.
#[tokio::test]
async fn a_denial_leaves_a_line() {
    for kind in BOTH {
        let lines = LogLines::of("slidegate::denial");
        let _guard = tracing::subscriber::set_default(lines.clone());
        let service = Service::start(kind, RULES).await;
        let mut client = service.client().await;
        let headers = [("content-type", "application/json"), ("x-request-id", "the-request")];
        let one = async |client: &mut crate::http::client::Client, attributes: serde_json::Value| {
            let body = json!({ "attributes": attributes }).to_string();
            client.send("POST", "/v1/check", &headers, body.as_bytes()).await.status
        };
        let login = json!({ "path": "/login", "ip": "203.0.113.7" });
        assert_eq!(
            [one(&mut client, login.clone()).await, one(&mut client, login.clone()).await],
            [200, 200]
        );
        service.advance_ms(1_500);
        assert_eq!(one(&mut client, login).await, 429);
        let expected = "message=denied rule=\"login\" limit=\"login-2/min\" mode=\"enforced\" subject=\"ip=203.0.113.7\" cost=1 \
                        retry_after_ms=58500 reset_at=\"2025-04-18T19:15:03.000Z\" source=\"store\" request_id=\"the-request\"";
        assert_eq!(wait_for(&lines, 1).await, [expected], "{kind:?}");

        let watched = json!({ "path": "/watched", "ip": "203.0.113.7" });
        assert_eq!([one(&mut client, watched.clone()).await, one(&mut client, watched).await], [200, 200]);
        let line = &wait_for(&lines, 1).await[0];
        let start = "message=would be denied rule=\"watched\" limit=\"watched-1/min\" mode=\"observed\" subject=\"ip=203.0.113.7\"";
        assert!(line.starts_with(start), "{line}");

        assert_eq!(one(&mut client, json!({ "path": "/closed", "ip": "203.0.113.66" })).await, 403);
        let line = &wait_for(&lines, 1).await[0];
        assert!(line.starts_with("message=denied rule=\"closed\" mode=\"enforced\" "), "{line}");
        assert!(line.contains("barred=\"deny list\" request_id="), "{line}");
        assert_eq!(one(&mut client, json!({ "path": "/named" })).await, 403);
        assert!(wait_for(&lines, 1).await[0].contains("barred=\"missing key\""));

        // Who would get a 403 if the rule were enforced.
        assert_eq!(one(&mut client, json!({ "path": "/soon" })).await, 200);
        let line = &wait_for(&lines, 1).await[0];
        let start = "message=would be denied rule=\"soon\" mode=\"observed\" ";
        assert!(line.starts_with(start) && line.contains("barred=\"missing key\""), "{line}");

        // What can never fit has no time to come again.
        let body = json!({ "attributes": { "path": "/login", "ip": "203.0.113.8" }, "cost": 3 });
        assert_eq!(client.post("/v1/check", &body).await.status, 429);
        let line = &wait_for(&lines, 1).await[0];
        assert!(line.contains("cost=3") && !line.contains("retry_after_ms"), "{line}");

        let body = json!({ "key": "alice", "quota": 1, "window_ms": 1000 });
        assert_eq!(client.post("/v1/limit", &body).await.status, 200);
        let refused = client.send("POST", "/v1/limit", &headers, body.to_string().as_bytes()).await;
        assert_eq!((refused.status, refused.header("x-request-id")), (429, Some("the-request")));
        let line = &wait_for(&lines, 1).await[0];
        assert!(
            line.contains("rule=\"(ad hoc)\" limit=\"1/s\" mode=\"enforced\" subject=\"key=alice\""),
            "{line}"
        );
        assert!(line.ends_with("request_id=\"the-request\""), "{line}");
    }
}

/// Nothing that a client sends ends a line, or is taken for a field.
#[tokio::test]
async fn values_of_clients_stay_values() {
    let lines = LogLines::of("slidegate::denial");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let rules = "rules: [{ name: login, key: [user], limits: [1/min] }]";
    let service = Service::start(Kind::Memory, rules).await;
    let mut client = service.client().await;
    let hostile = [
        ("a\nb rule=\"x\"", r#"subject="user=\"a\\nb rule=\\\"x\\\"\"""#),
        ("\u{1b}[31mred", r#"subject="user=\"\\u{1b}[31mred\"""#),
        ("\u{2028}", r#"subject="user=\"\\u{2028}\"""#),
        ("a b", r#"subject="user=\"a b\"""#),
    ];
    for (value, expected) in hostile {
        assert_eq!(client.statuses(2, json!({ "user": value })).await, [200, 429], "{value:?}");
        let line = &wait_for(&lines, 1).await[0];
        assert!(line.contains(expected), "{expected} is not in {line}");
        assert!(!line.contains(|c: char| c.is_control() || c == '\u{2028}'), "{line:?}");
    }
}

/// A flood leaves as many lines as a second may have, and then one that says how many there were
/// besides.
#[tokio::test]
async fn a_flood_is_counted() {
    let lines = LogLines::of("slidegate::denial");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let policy = format!("observe: {{ denial_log: 3 }}\n{RULES}");
    let service = Service::start_in_real_time(Kind::Memory, &policy).await;
    let mut client = service.client().await;
    let began = Instant::now();
    let statuses = client.statuses(52, json!({ "path": "/login", "ip": "203.0.113.7" })).await;
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 50);
    let (mut written, mut left_out) = (0, 0);
    while written + left_out < 50 {
        assert!(began.elapsed() < Duration::from_secs(20), "{written} lines, {left_out} left out");
        for line in lines.take() {
            let reported =
                line.split_once("left_out=").map_or(0, |(_, n)| n.parse().expect("a number at the end"));
            left_out += reported;
            written += u64::from(line.contains("rule=\"login\""));
        }
        tokio::task::yield_now().await;
    }
    assert_eq!(written + left_out, 50);
    // More than three only if the requests took longer than a second.
    assert!(written >= 3 && written <= 3 * (1 + began.elapsed().as_secs()), "{written} lines");
}

#[tokio::test]
async fn subjects_may_be_hashed_and_the_log_may_be_off() {
    let lines = LogLines::of("slidegate::denial");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let login = json!({ "path": "/login", "ip": "203.0.113.7" });
    let hashed = Service::start(Kind::Memory, &format!("observe: {{ subjects: hashed }}\n{RULES}")).await;
    hashed.client().await.statuses(4, login.clone()).await;
    let two = wait_for(&lines, 2).await;
    let hash = |line: &str| {
        let (_, rest) = line.split_once("subject=\"ip=").expect("a subject");
        rest.split_once('"').expect("its end").0.to_owned()
    };
    assert_eq!((hash(&two[0]).len(), hash(&two[0])), (16, hash(&two[1])), "{two:?}");
    let telemetry = hashed.app.telemetry().expect("it is on");
    let list = telemetry.denied().list(1, hashed.app.gate().now_ms());
    assert_eq!(list.entries[0].subject[0].value.as_deref(), Some(&*hash(&two[0])), "as in the top list");

    for observe in ["{ denial_log: 0 }", "{ enabled: false }"] {
        let off = Service::start(Kind::Memory, &format!("observe: {observe}\n{RULES}")).await;
        off.client().await.statuses(4, login.clone()).await;
        // All that was denied is written before the end.
        off.stop().await.expect("it ends");
        assert_eq!(lines.take(), [""; 0], "{observe}");
    }
}

/// What is still to be written when the service ends is written, and so is what was left out.
#[tokio::test]
async fn the_end_leaves_nothing_out() {
    let lines = LogLines::of("slidegate::denial");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let service = Service::start(Kind::Memory, &format!("observe: {{ denial_log: 2 }}\n{RULES}")).await;
    service.client().await.statuses(10, json!({ "path": "/login", "ip": "203.0.113.7" })).await;
    service.stop().await.expect("it ends");
    let written = lines.take();
    let reported: u64 = written
        .iter()
        .filter_map(|line| line.split_once("left_out="))
        .map(|(_, n)| n.parse::<u64>().expect("a number"))
        .sum();
    let denials = written.iter().filter(|line| line.contains("rule=")).count() as u64;
    assert_eq!(reported + denials, 8, "{written:#?}");
}
