//! Overrides that hold for a while, on every node of a store.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slidegate::policy::TemporaryOverride;
use slidegate::store::{Note, PostOutcome};
use slidegate::{Store, SystemClock};
use slidegate_server::{Config, NewOverride, OverrideError, OverrideRecord, PolicySource, Runtime};
use slidegate_testkit::log_lines::LogLines;
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::http::service::{Kind, Service};

const RULES: &str = "
rules:
  - { name: search, match: { path: /search }, key: [user], limits: [2/h] }
  - { name: login, match: { path: /login }, key: [ip], limits: [3/h] }
";

const HOUR_MS: u64 = 3_600_000;

fn new(definition: &Value, expires_in_ms: u64) -> NewOverride {
    let definition =
        TemporaryOverride::parse(&definition.to_string()).unwrap_or_else(|errors| panic!("{errors}"));
    NewOverride { definition, expires_in_ms, reason: "a test".to_owned() }
}

fn raised(quota: u64) -> Value {
    json!({ "rule": "search", "when": { "user": "alice" }, "limits": [format!("{quota}/h")] })
}

async fn check<C: slidegate::Clock + Clone + 'static>(
    service: &Service<C>,
    user: &str,
) -> (u16, Option<u64>) {
    let answer = service.client().await.check(json!({ "path": "/search", "user": user })).await;
    let quota = answer.json().pointer("/limits/0/quota").and_then(Value::as_u64);
    (answer.status, quota)
}

/// Looks until it is so. What is promised within two seconds is waited for five times as long.
async fn becomes<C: slidegate::Clock + Clone + 'static>(
    service: &Service<C>,
    user: &str,
    expected: (u16, Option<u64>),
) {
    let began = Instant::now();
    loop {
        // It only looks: a check would use up what it looks at.
        let body = json!({ "attributes": { "path": "/search", "user": user }, "cost": 0 });
        let answer = service.client().await.post("/v1/check", &body).await;
        let found = (answer.status, answer.json().pointer("/limits/0/quota").and_then(Value::as_u64));
        if found == expected {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{found:?}, expected {expected:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_node_that_sets_it_has_it_at_once() {
    for kind in [Kind::Memory, Kind::Redis] {
        let service = Service::start_in_real_time(kind, RULES).await;
        for expected in [(200, Some(2)), (200, Some(2)), (429, Some(2))] {
            assert_eq!(check(&service, "alice").await, expected);
        }
        let set = service
            .app
            .add_override(new(&raised(4), HOUR_MS))
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        assert!(set.active && set.problem.is_none(), "{set:?}");
        assert_eq!((set.reason.as_str(), set.expires_at_ms - set.created_at_ms), ("a test", HOUR_MS));
        // On what was recorded before, for whom it is, and for nobody else.
        for expected in [(200, Some(4)), (200, Some(4)), (429, Some(4))] {
            assert_eq!(check(&service, "alice").await, expected);
        }
        assert_eq!(check(&service, "bob").await, (200, Some(2)));
        // The newest goes first.
        let deny = json!({ "rule": "search", "when": { "user": ["alice", "bob"] }, "deny": true });
        let denied =
            service.app.add_override(new(&deny, HOUR_MS)).await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((check(&service, "alice").await.0, check(&service, "bob").await.0), (403, 403));
        let ids: Vec<String> = service.app.overrides().into_iter().map(|one| one.id).collect();
        assert_eq!(ids.len(), 2);
        assert!(ids.contains(&set.id) && ids.contains(&denied.id));
        for id in &ids {
            assert!(service.app.remove_override(id).await.unwrap_or_else(|error| panic!("{error}")));
            assert!(!service.app.remove_override(id).await.unwrap_or_else(|error| panic!("{error}")));
        }
        assert_eq!(check(&service, "alice").await, (429, Some(2)));
        assert_eq!(service.app.overrides(), []);
        let allow = json!({ "rule": "search", "when": { "user": "alice" }, "allow": true });
        service
            .app
            .add_override(new(&allow, HOUR_MS))
            .await
            .map(drop)
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(check(&service, "alice").await, (200, None));
    }
}

/// By the clock of the service, to the millisecond.
#[tokio::test]
async fn it_ends_on_time() {
    let service = Service::start(Kind::Memory, RULES).await;
    service
        .app
        .add_override(new(&raised(4), 5_000))
        .await
        .map(drop)
        .unwrap_or_else(|error| panic!("{error}"));
    service.advance_ms(4_999);
    assert_eq!(check(&service, "alice").await, (200, Some(4)));
    service.advance_ms(1);
    becomes(&service, "alice", (200, Some(2))).await;
    assert_eq!(service.app.overrides(), []);
}

async fn node(url: &str) -> Service<SystemClock> {
    let text =
        format!("version: 1\nstore: {{ kind: redis, url: '{url}', timeout: 30s, deny_cache: 1h }}\n{RULES}");
    let config = Config::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    Service::serve(app, SystemClock::new(), None).await
}

#[tokio::test]
async fn every_node_of_a_store_has_it() {
    let redis = RedisServer::start(Flavour::Redis70);
    let (one, other) = (node(&redis.url()).await, node(&redis.url()).await);
    for expected in [(200, Some(2)), (200, Some(2)), (429, Some(2)), (429, Some(2))] {
        assert_eq!(check(&other, "alice").await, expected);
    }
    let set = one.app.add_override(new(&raised(3), HOUR_MS)).await.unwrap_or_else(|error| panic!("{error}"));
    becomes(&other, "alice", (200, Some(3))).await;
    assert_eq!(check(&other, "alice").await, (200, Some(3)));
    assert_eq!(other.app.overrides(), one.app.overrides());
    // One that starts now has it for its first request.
    let late = node(&redis.url()).await;
    assert_eq!(check(&late, "alice").await, (429, Some(3)));
    // Whoever removes it, it is gone everywhere.
    assert!(late.app.remove_override(&set.id).await.unwrap_or_else(|error| panic!("{error}")));
    becomes(&one, "alice", (200, Some(2))).await;
    becomes(&other, "alice", (200, Some(2))).await;
    // One that ends does so everywhere, without being removed.
    other.app.add_override(new(&raised(9), 1_500)).await.map(drop).unwrap_or_else(|error| panic!("{error}"));
    becomes(&one, "alice", (200, Some(9))).await;
    becomes(&one, "alice", (200, Some(2))).await;
    becomes(&other, "alice", (200, Some(2))).await;
}

#[tokio::test]
async fn while_the_store_fails_present_overrides_apply_until_they_expire() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let service = node(&redis.url()).await;
    let long = json!({ "rule": "search", "when": { "user": "bob" }, "limits": ["7/h"] });
    service.app.add_override(new(&long, HOUR_MS)).await.map(drop).unwrap_or_else(|error| panic!("{error}"));
    service
        .app
        .add_override(new(&raised(5), 2_500))
        .await
        .map(drop)
        .unwrap_or_else(|error| panic!("{error}"));
    redis.kill();
    assert_eq!(check(&service, "alice").await, (200, Some(5)));
    becomes(&service, "alice", (200, Some(2))).await;
    becomes(&service, "bob", (200, Some(7))).await;
    let refused = service.app.add_override(new(&raised(5), HOUR_MS)).await.expect_err("no store");
    assert!(matches!(refused, OverrideError::Store(_)), "{refused}");
    assert_eq!(service.app.overrides().len(), 1);
}

/// The next line of the log that is no repetition has these words. The store is asked every second.
async fn expect_line(lines: &LogLines, words: &[&str]) {
    let began = Instant::now();
    let logged = loop {
        let mut new = lines.take();
        new.retain(|line| !line.contains("the store still fails"));
        if !new.is_empty() {
            break new;
        }
        assert!(began.elapsed() < Duration::from_secs(10), "nothing is logged");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(
        logged.len() == 1 && words.iter().all(|word| logged[0].contains(word)),
        "{logged:?}, expected {words:?}"
    );
}

/// Nobody has to guess why limits are not those of the store: that it fails is told once, and that
/// it answers again.
#[tokio::test]
async fn a_store_failure_is_reported() {
    let lines = LogLines::of("slidegate_server::runtime::overrides");
    let _guard = tracing::subscriber::set_default(lines.clone());
    let (fails, again) = ("the store is unavailable: ", "the store is available again");
    let (without, with) =
        ("the temporary overrides in it do not apply", "the last temporary overrides stay in force");
    let mut redis = RedisServer::start(Flavour::Redis70);
    // Where no password is asked for, every one is wrong.
    let service = node(&redis.url().replace("redis://", "redis://:secret@")).await;
    expect_line(&lines, &[fails, "Password authentication failed", without]).await;
    redis.must(&["CONFIG", "SET", "requirepass", "secret"]);
    expect_line(&lines, &[again]).await;
    redis.kill();
    expect_line(&lines, &[fails, with]).await;
    service.stop().await.expect("an end");
    // A start finds nobody there.
    let service = node(&redis.url()).await;
    expect_line(&lines, &[fails, "cannot reach Redis", without]).await;
    redis.restart();
    expect_line(&lines, &[again]).await;
    service.stop().await.expect("an end");
}

/// A policy that changes under overrides, and notes that nobody understands.
#[tokio::test]
async fn one_that_does_not_fit_hinders_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("policy.yaml");
    let with = format!("version: 1\n{RULES}");
    let without = "version: 1\nrules: [{ name: login, match: { path: /search }, key: [ip], limits: [3/h] }]";
    let config = Config::parse("policy.yaml", &with).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let app = app.with_source(PolicySource::new(&path, &with, |_| {}));
    let service = Service::serve(app, SystemClock::new(), None).await;
    let app = &service.app;
    let on_login = json!({ "rule": "login", "when": { "user": "alice" }, "limits": ["6/h"] });
    for exception in [raised(4), on_login] {
        app.add_override(new(&exception, HOUR_MS)).await.map(drop).unwrap_or_else(|error| panic!("{error}"));
    }
    let expires_at_ms = app.gate().now_ms() + HOUR_MS;
    for (id, text) in
        [("odd", "{}"), ("older", r#"{"exception":"{\"rule\":1}","reason":"x","created_at_ms":1}"#)]
    {
        let note = Note { id: id.to_owned(), text: text.to_owned(), expires_at_ms };
        assert_eq!(app.gate().store().post(&note, 0).await.expect("memory"), PostOutcome::Done);
    }
    // Which rule it is for, whether it is in force, and whether it is said why not.
    let summary = || -> Vec<(String, bool, bool)> {
        let rule =
            |one: &OverrideRecord| one.definition.as_ref().map_or("", TemporaryOverride::rule).to_owned();
        let all = app.overrides();
        let mut all: Vec<_> = all.iter().map(|one| (rule(one), one.active, one.problem.is_some())).collect();
        all.sort();
        all
    };
    let odd = (String::new(), false, true);
    let [login, search] = ["login", "search"].map(|rule| (rule.to_owned(), true, false));
    let began = Instant::now();
    while app.overrides().len() < 4 {
        assert!(began.elapsed() < Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let all = [odd.clone(), odd.clone(), login.clone(), search];
    assert_eq!(summary(), all);
    assert_eq!(check(&service, "alice").await, (200, Some(4)));

    fs::write(&path, without).expect("a file");
    app.reload().await.map(drop).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(summary(), [odd.clone(), odd, login, ("search".to_owned(), false, true)]);
    let problems: Vec<String> = app.overrides().into_iter().filter_map(|one| one.problem).collect();
    let gone = "unknown rule `search`; the policy has the rules login".to_owned();
    assert!(problems.contains(&gone), "{problems:?}");
    assert_eq!(check(&service, "alice").await, (200, Some(6)));

    fs::write(&path, with).expect("a file");
    app.reload().await.map(drop).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(summary(), all);
    assert_eq!(check(&service, "alice").await, (200, Some(4)));
    assert!(app.remove_override("odd").await.unwrap_or_else(|error| panic!("{error}")));
}

#[tokio::test]
async fn everything_has_a_bound() {
    let service = Service::start(Kind::Memory, RULES).await;
    let app = &service.app;
    for expires_in_ms in [0, 999, 90 * 24 * HOUR_MS + 1, u64::MAX] {
        let refused = app.add_override(new(&raised(4), expires_in_ms)).await.expect_err("an error");
        assert!(matches!(refused, OverrideError::Expiry), "{refused}");
    }
    let long = NewOverride { reason: "x".repeat(1_001), ..new(&raised(4), HOUR_MS) };
    assert!(matches!(app.add_override(long).await, Err(OverrideError::Reason)));
    let names: Vec<String> = (0..2_000).map(|name| format!("user-{name}")).collect();
    let large = json!({ "rule": "search", "when": { "user": names }, "deny": true });
    assert!(matches!(app.add_override(new(&large, HOUR_MS)).await, Err(OverrideError::TooLarge)));
    for (exception, part) in [
        (json!({ "rule": "serach", "when": {}, "deny": true }), "unknown rule `serach`"),
        (json!({ "rule": "search", "when": { "ip": "10.0.0.0/40" }, "deny": true }), "10.0.0.0/40"),
        (json!({ "rule": "search", "when": {}, "limits": [] }), "empty list of limits"),
    ] {
        let refused = app.add_override(new(&exception, HOUR_MS)).await.expect_err("an error");
        assert!(refused.to_string().contains(part), "{refused}");
    }
    assert_eq!(app.overrides(), []);
    for number in 0..1_000 {
        let note = Note {
            id: format!("{number}"),
            text: String::new(),
            expires_at_ms: app.gate().now_ms() + HOUR_MS,
        };
        assert_eq!(
            app.gate().store().post(&note, app.gate().now_ms()).await.expect("memory"),
            PostOutcome::Done
        );
    }
    let full = app.add_override(new(&raised(4), HOUR_MS)).await.expect_err("an error");
    assert!(matches!(full, OverrideError::Full), "{full}");
    // What has ended makes room.
    service.advance_ms(HOUR_MS);
    app.add_override(new(&raised(4), HOUR_MS)).await.map(drop).unwrap_or_else(|error| panic!("{error}"));
}

/// Memory has it in its snapshot.
#[tokio::test]
async fn a_restart_keeps_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let start = async || {
        let path = directory.path().join("state").display().to_string();
        let text = format!("version: 1\nstore: {{ snapshot: '{path}' }}\n{RULES}");
        let config = Config::parse("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let app = Runtime::new(config).expect("settings");
        Service::serve(app, SystemClock::new(), None).await
    };
    let service = start().await;
    service
        .app
        .add_override(new(&raised(4), HOUR_MS))
        .await
        .map(drop)
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(check(&service, "alice").await, (200, Some(4)));
    let before = service.app.overrides();
    service.stop().await.expect("it ends");
    let service = start().await;
    assert_eq!(check(&service, "alice").await, (200, Some(4)));
    assert_eq!(service.app.overrides(), before);
}
