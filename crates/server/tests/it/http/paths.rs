//! Paths that servers read differently, as every way to ask reads them.

use serde_json::json;

use crate::http::admin::Operator;
use crate::http::service::{BOTH, Kind, Service};

const POLICY: &str = "
server: { admin: 127.0.0.1:0 }
rules:
  - { name: login, match: { path: /login }, limits: [2/min] }
  - { name: user, match: { path: '/users/{id}' }, key: [id], limits: [9/min] }
  - name: api
    match: { path: { prefix: /api } }
    limits: [90/min]
    overrides: [{ when: { path: /api/token }, limits: [3/min] }]
";
const MANY: &str = r"/a;b%3Bc%2Fd\e%5Cf/%67/../login";
const AMBIGUOUS: &str = "/users/7;%2F..%2F8";
const TIGHTER: &str = "/api/token;x=1";

/// One limit for all spellings, charged once by each.
#[tokio::test]
async fn spellings_share_a_limit() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let uri = |uri| [("x-forwarded-uri", uri)];
        for (path, status) in [("/x/..;/login", 200), ("/login;a=%2Fb", 200), ("/;/login", 429)] {
            assert_eq!(client.get("/v1/authorize", &uri(path)).await.status, status, "{kind:?} {path}");
        }
        let body = json!({ "attributes": { "path": "/x%2F..%2Flogin" } });
        assert_eq!(client.post("/v1/check", &body).await.status, 429);
    }
}

/// What no rule can judge is refused, and counted.
#[tokio::test]
async fn what_cannot_be_judged_is_a_400() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let refused = [
        (MANY, "more than 32 readings"),
        (AMBIGUOUS, "different subjects or limits of the rule `user`"),
        (TIGHTER, "different subjects or limits of the rule `api`"),
    ];
    for (path, expected) in refused {
        let body = json!({ "attributes": { "path": path } });
        let answers = [
            client.get("/v1/authorize", &[("x-forwarded-uri", path)]).await,
            client.post("/v1/check", &body).await,
        ];
        for answer in answers {
            assert_eq!(answer.status, 400, "{answer:?}");
            assert!(answer.detail().contains(expected), "{answer:?}");
        }
        // Envoy lets pass what is answered with an error.
        let entries = json!([{ "key": "path", "value": path }]);
        let call = json!({ "domain": "shop", "descriptors": [{ "entries": entries }] });
        assert_eq!(client.post("/json", &call).await.status, 429, "{path}");
    }
    let page = Operator::new(&service).await.get("/metrics").await;
    let text = String::from_utf8(page.body).expect("text");
    let lines: Vec<&str> =
        text.lines().filter(|line| line.starts_with("slidegate_paths_refused_total{")).collect();
    let expected = [
        r#"slidegate_paths_refused_total{reason="too_many_readings"} 3"#,
        r#"slidegate_paths_refused_total{reason="ambiguous"} 6"#,
    ];
    assert_eq!(lines, expected);
}
