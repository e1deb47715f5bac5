//! Metrics, as Prometheus reads them.

use serde_json::json;
use slidegate::SystemClock;
use slidegate_server::{Config, Runtime};
use slidegate_testkit::servers::{Flavour, RedisServer};

use super::{LOGIN, Operator, with_admin};
use crate::http::service::{BOTH, Kind, Service};

const CLASSIC: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The value of a metric, with its labels.
pub(super) fn metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

/// The classic text.
pub(super) async fn scrape(operator: &mut Operator) -> String {
    let scraped = operator.get("/metrics").await;
    assert_eq!((scraped.status, scraped.header("content-type")), (200, Some(CLASSIC)));
    String::from_utf8(scraped.body).expect("UTF-8")
}

#[track_caller]
fn holds(text: &str, expected: &[(&str, f64)]) {
    for (name, value) in expected {
        assert_eq!(metric(text, name), Some(*value), "{name} in\n{text}");
    }
}

/// A service over a real Redis, as its settings have it.
async fn over_redis(redis: &RedisServer, settings: &str, rules: &str) -> Service<SystemClock> {
    let store = format!("store: {{ kind: redis, url: '{}'{settings} }}", redis.url());
    let policy = format!("version: 1\n{store}\n{}", with_admin(rules));
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    Service::serve(Runtime::new(config).expect("settings"), SystemClock::new(), None).await
}

#[tokio::test]
async fn metrics_are_as_prometheus_reads_them() {
    let service = Service::start_in_real_time(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    service.client().await.check(json!({ "path": "/login", "ip": "203.0.113.7" })).await;
    let text = scrape(&mut operator).await;
    holds(
        &text,
        &[
            ("slidegate_ready", 1.0),
            ("slidegate_policy_rules", 1.0),
            ("slidegate_policy_reload_success", 1.0),
            ("slidegate_policy_reloads_total{outcome=\"done\"}", 0.0),
            ("slidegate_policy_reloads_total{outcome=\"refused\"}", 0.0),
            ("slidegate_overrides_active", 0.0),
            ("slidegate_memory_keys", 1.0),
            ("slidegate_memory_forgotten_keys_total", 0.0),
            ("slidegate_connections_total{outcome=\"turned_away\"}", 0.0),
        ],
    );
    assert!(metric(&text, "slidegate_memory_bytes").expect("a size") > 0.0);
    assert!(metric(&text, "slidegate_policy_loaded_timestamp_seconds").expect("a time") > 1.7e9);
    let version = format!("slidegate_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    assert_eq!(metric(&text, &version), Some(1.0), "{text}");

    let set = json!({ "rule": "login", "when": {}, "deny": true, "expires_in": "1h" });
    operator.post("/v1/overrides", &set).await;
    holds(&scrape(&mut operator).await, &[("slidegate_overrides_active", 1.0)]);
}

/// Who asks for OpenMetrics gets it: the same samples, in the same order.
#[tokio::test]
async fn there_are_two_formats() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    let classic = scrape(&mut operator).await;
    let headers = [("accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")];
    let scraped = operator.send("GET", "/metrics", &headers, b"").await;
    assert_eq!((scraped.status, scraped.header("content-type")), (200, Some(OPEN_METRICS)));
    assert_eq!(scraped.header("vary"), Some("accept"));
    let open = String::from_utf8(scraped.body).expect("UTF-8");
    assert!(open.ends_with("\n# EOF\n") && !classic.contains("# EOF"), "{open}");
    // That of a connection which has just ended may still be counted, and the scrape before has
    // taken turns.
    let moves = ["#", "slidegate_connections_open ", "slidegate_connection_turns_total "];
    let stays = |line: &&str| !moves.iter().any(|start| line.starts_with(start));
    let samples = |text: &str| -> Vec<String> { text.lines().filter(stays).map(str::to_owned).collect() };
    assert_eq!(samples(&open), samples(&classic));
}

#[tokio::test]
async fn debts_are_counted() {
    for kind in BOTH {
        let jobs = "  - { name: jobs, match: { path: /jobs }, limits: [10/h, 20/day], refundable: true }\n";
        let service = Service::start(kind, &with_admin(jobs)).await;
        let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
        let mut permits = Vec::new();
        for _ in 0..3 {
            let reserved =
                client.post("/v1/check", &json!({ "attributes": { "path": "/jobs" }, "cost": 3 })).await;
            permits.push(reserved.at("/permit"));
        }
        // More than was reserved, less, and nothing; then once more.
        for (permit, cost) in permits.iter().zip([8, 1, 0]).chain([(&permits[0], 100)]) {
            client.post("/v1/settle", &json!({ "permit": permit, "cost": cost })).await;
        }
        holds(
            &scrape(&mut operator).await,
            &[
                ("slidegate_settlement_debt_units_total", 5.0),
                ("slidegate_settlements_total{outcome=\"settled\"}", 3.0),
                ("slidegate_settlements_total{outcome=\"already_spent\"}", 1.0),
                ("slidegate_settlements_total{outcome=\"expired\"}", 0.0),
            ],
        );
    }
}

#[tokio::test]
async fn who_answered_is_counted() {
    let rules = "  - { name: login, match: { path: /login }, key: [ip], limits: [2/h] }
  - { name: open, match: { path: /open }, limits: [2/h], on_store_error: allow }\n";
    let mut redis = RedisServer::start(Flavour::Redis70);
    let service = over_redis(&redis, ", timeout: 30s, deny_cache: 30s", rules).await;
    let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
    let login = json!({ "path": "/login", "ip": "203.0.113.7" });
    assert_eq!(client.statuses(6, login).await, [200, 200, 429, 429, 429, 429]);
    let text = scrape(&mut operator).await;
    holds(
        &text,
        &[
            ("slidegate_store_answers_total{source=\"store\"}", 3.0),
            ("slidegate_store_answers_total{source=\"cache\"}", 3.0),
            ("slidegate_store_answers_total{source=\"local\"}", 0.0),
            ("slidegate_deny_cache_hits_total", 3.0),
            ("slidegate_store_failures_total", 0.0),
            ("slidegate_memory_keys", 1.0),
        ],
    );
    let failed = |text: &str| -> f64 {
        let errors = text.lines().filter(|line| line.starts_with("slidegate_store_errors_total{"));
        errors.map(|line| line.rsplit_once(' ').expect("a value").1.parse::<f64>().expect("a number")).sum()
    };
    assert_eq!(failed(&text), 0.0, "{text}");
    redis.kill();
    client.check(json!({ "path": "/login", "ip": "203.0.113.8" })).await;
    client.check(json!({ "path": "/open" })).await;
    let text = scrape(&mut operator).await;
    holds(
        &text,
        &[
            ("slidegate_store_answers_total{source=\"local\"}", 1.0),
            ("slidegate_store_answers_total{source=\"assumed\"}", 1.0),
            ("slidegate_store_failures_total", 2.0),
            ("slidegate_store_errors_total{kind=\"timed_out\"}", 0.0),
        ],
    );
    // The notes may have been read meanwhile.
    assert!(failed(&text) >= 2.0, "{text}");
}

/// What docs/metrics.md says of their size.
#[tokio::test]
async fn a_thousand_rules_have_a_bound() {
    let rule = |n: usize| {
        format!("  - {{ name: rule-{n:04}, match: {{ path: /route/{n:04} }}, key: [ip], limits: [5/min] }}\n")
    };
    let rules: String = (0..1_000).map(rule).collect();
    let service = Service::start(Kind::Memory, &with_admin(&rules)).await;
    let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
    assert!(scrape(&mut operator).await.len() < 12_000, "rules that nobody asked for take nothing");
    for n in 0..1_000 {
        client.check(json!({ "path": format!("/route/{n:04}"), "ip": "203.0.113.7" })).await;
    }
    let text = scrape(&mut operator).await;
    let of_rules = text.lines().filter(|line| line.contains("{rule=\"rule-")).count();
    assert_eq!(of_rules, 3_000);
    assert!((340_000..380_000).contains(&text.len()), "{} bytes", text.len());
    // Other clients: nothing is added.
    for n in 0..1_000 {
        client.check(json!({ "path": format!("/route/{n:04}"), "ip": format!("192.0.2.{}", n % 256) })).await;
    }
    let longer = scrape(&mut operator).await;
    assert_eq!(longer.lines().count(), text.lines().count());
}

#[tokio::test]
async fn every_decision_of_a_limit_is_counted() {
    let rules = "  - { name: login, match: { path: /login }, key: [ip], limits: [2/min, 100/day] }
  - { name: tried, match: { path: '/tried/{id}' }, limits: [1/min], mode: observe }
  - { name: unused, match: { path: /unused }, limits: [1/min] }\n";
    for kind in BOTH {
        let service = Service::start(kind, &with_admin(rules)).await;
        let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
        let login = json!({ "path": "/login", "ip": "203.0.113.7" });
        assert_eq!(client.statuses(3, login.clone()).await, [200, 200, 429]);
        client.post("/v1/check", &json!({ "attributes": login, "cost": 0 })).await;
        for id in ["1", "2"] {
            assert_eq!(client.check(json!({ "path": format!("/tried/{id}") })).await.status, 200);
        }
        client.check(json!({ "path": "/free" })).await;
        client.post("/v1/limit", &json!({ "key": "k", "quota": 5, "window_ms": 60_000 })).await;
        let text = scrape(&mut operator).await;
        let decided = |line: &&str| line.starts_with("slidegate_decisions_total{");
        let found: Vec<&str> = text.lines().filter(decided).collect();
        let labels = |limit, route, mode| format!("limit=\"{limit}\",route=\"{route}\",mode=\"{mode}\"");
        let (minute, day) =
            (labels("login-2/min", "/login", "enforced"), labels("login-100/day", "/login", "enforced"));
        let tried = labels("tried-1/min", "/tried/{id}", "observed");
        let expected = [
            ("login", &minute, "allowed", 2),
            ("login", &minute, "denied", 1),
            ("login", &minute, "looked", 1),
            ("login", &day, "allowed", 2),
            ("login", &day, "denied", 0),
            ("login", &day, "uncharged", 1),
            ("login", &day, "looked", 1),
            ("tried", &tried, "allowed", 1),
            ("tried", &tried, "denied", 1),
            ("(ad hoc)", &labels("", "", "enforced"), "allowed", 1),
            ("(ad hoc)", &labels("", "", "enforced"), "denied", 0),
        ];
        let line = |(rule, labels, outcome, count): (&str, &String, &str, u64)| {
            format!("slidegate_decisions_total{{rule=\"{rule}\",{labels},outcome=\"{outcome}\"}} {count}")
        };
        assert_eq!(found, expected.map(line), "{kind:?}");
        holds(
            &text,
            &[
                (&format!("slidegate_near_misses_total{{rule=\"login\",{minute}}}"), 1.0),
                (&format!("slidegate_near_misses_total{{rule=\"login\",{day}}}"), 0.0),
                (&format!("slidegate_near_misses_total{{rule=\"tried\",{tried}}}"), 1.0),
                ("slidegate_requests_total{outcome=\"denied\"}", 1.0),
                ("slidegate_requests_total{outcome=\"looked\"}", 1.0),
                ("slidegate_requests_total{outcome=\"barred\"}", 0.0),
                ("slidegate_requests_total{outcome=\"unlimited\"}", 1.0),
                ("slidegate_requests_would_deny_total", 1.0),
            ],
        );
        let timed = metric(&text, "slidegate_decision_duration_seconds_count").expect("a count");
        assert_eq!(metric(&text, "slidegate_decision_duration_seconds_bucket{le=\"+Inf\"}"), Some(timed));
        // Over Redis each is timed: seven checks, and the limit that came along.
        assert!(kind == Kind::Memory || timed == 8.0, "{timed}");
    }
}

/// Who does not want to be counted is not: what the store counts anyhow stays.
#[tokio::test]
async fn observing_can_be_turned_off() {
    let service =
        Service::start(Kind::Memory, &format!("observe: {{ enabled: false }}\n{}", with_admin(LOGIN))).await;
    let mut operator = Operator::new(&service).await;
    service.client().await.check(json!({ "path": "/login", "ip": "203.0.113.7" })).await;
    let text = scrape(&mut operator).await;
    for name in
        ["slidegate_requests_total", "slidegate_decisions_total", "slidegate_decision_duration_seconds"]
    {
        assert!(!text.contains(name), "{name} in\n{text}");
    }
    holds(&text, &[("slidegate_memory_keys", 1.0), ("slidegate_policy_rules", 1.0)]);
}
