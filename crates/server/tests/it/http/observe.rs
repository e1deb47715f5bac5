//! What the service counts of the requests that it answers.

use serde_json::json;
use slidegate::telemetry::RequestCounts;

use crate::http::service::{BOTH, Kind, Service};

const RULES: &str = "rules:
  - { name: login, match: { path: /login }, key: [ip], limits: [3/min], deny: [{ ip: 192.0.2.66 }] }
  - { name: all, mode: observe, key: [ip], limits: [2/min] }
  - { name: rlaas, match: { path: /never }, key: [userId], limits: [1/min] }
";

#[tokio::test]
async fn every_way_in_is_counted() {
    for kind in BOTH {
        let service = Service::start(kind, RULES).await;
        let mut client = service.client().await;
        let login = json!({ "path": "/login", "ip": "192.0.2.1" });
        assert_eq!(client.statuses(4, login.clone()).await, [200, 200, 200, 429]);
        let look = json!({ "attributes": login, "cost": 0 });
        assert_eq!(client.post("/v1/check", &look).await.status, 200);
        assert_eq!(client.check(json!({ "path": "/login", "ip": "192.0.2.66" })).await.status, 403);
        let proxied = [("x-forwarded-uri", "/login"), ("x-forwarded-for", "192.0.2.2")];
        assert_eq!(client.get("/v1/authorize", &proxied).await.status, 200);
        assert_eq!(client.get("/check?userId=alice", &[]).await.status, 200);
        assert_eq!(client.get("/check?userId=alice", &[]).await.status, 429);
        let call = json!({ "domain": "d", "descriptors": [{ "entries": [{ "key": "path", "value": "/login" }, { "key": "ip", "value": "192.0.2.3" }] }] });
        assert_eq!(client.post("/json", &call).await.status, 200);
        let ad_hoc = json!({ "key": "k", "quota": 1, "window_ms": 60_000 });
        assert_eq!(client.post("/v1/limit", &ad_hoc).await.status, 200);
        assert_eq!(client.post("/v1/limit", &ad_hoc).await.status, 429);

        let telemetry = service.app.telemetry().expect("telemetry is on");
        // Of three that were let in, one would have been refused.
        let expected = RequestCounts {
            allowed: 7,
            denied: 3,
            blocked: 1,
            peeked: 1,
            would_deny: 1,
            ..RequestCounts::default()
        };
        assert_eq!(telemetry.requests(), expected, "{kind:?}");
        let lines = telemetry.series();
        let counts: Vec<(&str, &str, u64, u64)> = lines
            .iter()
            .map(|line| (&*line.rule, &*line.route, line.enforced.allowed, line.enforced.denied))
            .collect();
        let expected = [
            ("login", "/login", 5, 1),
            // By its deny list.
            ("login", "/login", 0, 1),
            ("all", "", 0, 0),
            ("rlaas", "/never", 0, 0),
            ("rlaas", "", 1, 1),
            ("(ad hoc)", "", 1, 1),
        ];
        assert_eq!(counts, expected, "{kind:?}");
        assert_eq!((lines[2].observed.allowed, lines[2].observed.denied), (4, 1), "{kind:?}");
        // All of twelve decisions were timed, or one of seventeen.
        assert_eq!(telemetry.latency().count(), if kind == Kind::Redis { 12 } else { 1 });
    }
}

#[tokio::test]
async fn nothing_is_counted_where_that_is_off() {
    let service = Service::start(Kind::Memory, &format!("observe: {{ enabled: false }}\n{RULES}")).await;
    let mut client = service.client().await;
    assert_eq!(client.check(json!({ "path": "/login", "ip": "192.0.2.1" })).await.status, 200);
    assert!(service.app.telemetry().is_none());
}
