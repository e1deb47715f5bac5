//! A Redis that answers and refuses to write does not decide, and everything that tells of the
//! store says so.

use std::time::Duration;

use serde_json::json;
use slidegate::SystemClock;
use slidegate_server::{Config, Runtime};
use slidegate_testkit::log_lines::LogLines;
use slidegate_testkit::servers::{Flavour, RedisServer};
use tokio::time::timeout;

use super::Operator;
use crate::http::client::Response;
use crate::http::service::Service;

/// How Redis is made to refuse writes, how to end it, and the word that it refuses with.
const WAYS: [(&[&str], &[&str], &str); 2] = [
    (&["CONFIG", "SET", "maxmemory", "1"], &["CONFIG", "SET", "maxmemory", "0"], "OOM"),
    (&["REPLICAOF", "127.0.0.1", "1"], &["REPLICAOF", "NO", "ONE"], "READONLY"),
];

async fn over(redis: &RedisServer) -> Service<SystemClock> {
    let policy = format!(
        "version: 1
server: {{ admin: 127.0.0.1:0 }}
store: {{ kind: redis, url: '{}', timeout: 2s }}
rules: [{{ name: api, key: [user], limits: [1000/h] }}]",
        redis.url()
    );
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    Service::serve(app, SystemClock::new(), None).await
}

async fn check(service: &Service<SystemClock>) -> Response {
    service.client().await.check(json!({ "user": "alice" })).await
}

async fn metric(operator: &mut Operator, name: &str) -> u64 {
    let page = String::from_utf8(operator.get("/metrics").await.body).expect("text");
    let value = page.lines().find(|line| line.starts_with(name)).and_then(|line| line.rsplit(' ').next());
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} is not in {page}"))
}

#[tokio::test]
async fn a_redis_that_refuses_writes_is_noticed_until_it_writes_again() {
    let lines = LogLines::of("slidegate_store_redis::link::refusal");
    let _guard = tracing::subscriber::set_default(lines.clone());
    for flavour in [Flavour::Redis62, Flavour::Redis70] {
        for (begin, end, code) in WAYS {
            let redis = RedisServer::start(flavour);
            let service = over(&redis).await;
            let mut operator = Operator::new(&service).await;
            assert_eq!(check(&service).await.at("/source"), "store");
            assert_eq!(metric(&mut operator, "slidegate_store_refuses_writes{").await, 0);

            redis.must(begin);
            assert_eq!(check(&service).await.at("/source"), "local", "{code}");
            // Also on a connection that only reads: what needs no write is still answered.
            let required = operator.get("/readyz?store=required").await;
            assert_eq!((required.status, required.at("/store")), (503, "unavailable".into()), "{code}");
            assert!(required.detail().contains("refuses writes"), "{required:?}");
            let ready = operator.get("/readyz").await;
            assert_eq!((ready.status, ready.at("/store")), (200, "unavailable".into()), "{code}");
            let status = operator.get("/v1/status").await;
            assert_eq!(status.at("/store/state"), "unavailable");
            assert_eq!(status.at("/store/servers/0/state"), "refuses writes");
            let refusal = status.at("/store/servers/0/refusal");
            assert!(refusal.as_str().is_some_and(|text| text.starts_with(code)), "{refusal}");
            assert_eq!(metric(&mut operator, "slidegate_store_refuses_writes{").await, 1);

            assert_eq!(check(&service).await.at("/source"), "local", "{code}");
            let logged = lines.take();
            assert!(matches!(&logged[..], [line] if line.contains(code)), "once: {logged:?}");

            redis.must(end);
            // Nobody asks for a decision meanwhile.
            let recovered = async {
                while operator.get("/readyz?store=required").await.status != 200 {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            timeout(Duration::from_secs(20), recovered).await.expect("it writes again");
            assert_eq!(metric(&mut operator, "slidegate_store_refuses_writes{").await, 0);
            let status = operator.get("/v1/status").await;
            assert_eq!(status.at("/store/servers/0/state"), "closed");
            assert_eq!(status.at("/store/servers/0/refusal"), serde_json::Value::Null);
            assert_eq!(check(&service).await.at("/source"), "store", "{code}");
            let logged = lines.take();
            assert!(
                matches!(&logged[..], [line] if line.contains("accepts writes again")),
                "once: {logged:?}"
            );
        }
    }
}
