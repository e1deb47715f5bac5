//! Health on both listeners, and the status page.

use serde_json::{Value, json};
use slidegate::SystemClock;
use slidegate_server::{Config, Runtime};
use slidegate_testkit::servers::{Flavour, RedisServer};

use super::metrics::{metric, scrape};
use super::{LOGIN, Operator, with_admin};
use crate::http::service::{Kind, Service};

#[tokio::test]
async fn it_is_ready_until_shutdown_begins() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
    let ready = json!({ "ready": true, "store": "available" });
    for path in ["/readyz", "/readyz?store=required"] {
        assert_eq!(client.get(path, &[]).await.json(), ready);
        assert_eq!(operator.get(path).await.json(), ready);
    }
    for wrong in ["?store=requird", "?store", "?stor=required", "?store=required&store=required"] {
        assert_eq!(client.get(&format!("/readyz{wrong}"), &[]).await.status, 400, "{wrong}");
    }
    assert_eq!(client.get("/livez", &[]).await.json(), json!({ "live": true }));
    service.app.begin_shutdown();
    // Every answer now ends its connection.
    for path in ["/readyz", "/readyz?store=required"] {
        let answers =
            [service.client().await.get(path, &[]).await, Operator::new(&service).await.get(path).await];
        for answer in answers {
            assert_eq!((answer.status, answer.at("/ready")), (503, false.into()), "{path}");
        }
    }
    assert_eq!(service.client().await.get("/livez", &[]).await.status, 200);
    assert_eq!(Operator::new(&service).await.get("/livez").await.status, 200);
}

/// A store that is down makes nobody restart the process, or turn away who could be answered.
#[tokio::test]
async fn a_failed_store_counts_only_on_request() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let policy = format!(
        "version: 1\nstore: {{ kind: redis, url: '{}' }}\nserver: {{ admin: 127.0.0.1:0 }}\nrules:\n{LOGIN}",
        redis.url()
    );
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let (mut client, mut operator) = (service.client().await, Operator::new(&service).await);
    let login = json!({ "path": "/login", "ip": "203.0.113.7" });
    assert_eq!(client.check(login.clone()).await.status, 200);
    assert_eq!(operator.get("/readyz?store=required").await.status, 200);
    assert_eq!(operator.get("/v1/status").await.at("/store/kind"), "redis");
    redis.kill();
    // Until enough has failed that it is not asked any more.
    while operator.get("/readyz").await.at("/store") != "unavailable" {
        client.check(login.clone()).await;
    }
    for path in ["/livez", "/readyz"] {
        assert_eq!(client.get(path, &[]).await.status, 200, "{path}");
    }
    let needed = client.get("/readyz?store=required", &[]).await;
    assert_eq!((needed.status, needed.at("/store")), (503, "unavailable".into()));
    let status = operator.get("/v1/status").await;
    assert_eq!(status.at("/store/state"), "unavailable");
    assert!(status.at("/store/failures").as_u64().expect("a number") > 0);
    let text = scrape(&mut operator).await;
    let breaker = text.lines().find(|line| line.starts_with("slidegate_store_breaker_open{"));
    assert!(breaker.is_some_and(|line| line.ends_with(" 1")), "{text}");
    assert!(metric(&text, "slidegate_store_failures_total").expect("a count") > 0.0);
    let look = json!({ "attributes": { "ip": "203.0.113.7" } });
    assert_eq!(operator.post("/v1/keys/look", &look).await.at("/subjects/0/source"), "local");
    assert_eq!(operator.post("/v1/keys/reset", &look).await.status, 503);
}

#[tokio::test]
async fn the_status_is_all_on_one_page() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    service.client().await.check(json!({ "path": "/login", "ip": "203.0.113.7" })).await;
    let status = operator.get("/v1/status").await;
    assert_eq!((status.at("/store/kind"), status.at("/store/keys")), ("memory".into(), 1.into()));
    assert_eq!((status.at("/policy/rules"), status.at("/policy/last_ok")), (1.into(), true.into()));
    assert_eq!((status.at("/policy/file"), status.at("/snapshot")), (Value::Null, Value::Null));
    assert_eq!(status.at("/ready"), true);
}
