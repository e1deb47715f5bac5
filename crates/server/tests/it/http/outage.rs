//! Outage of the store: every rule has its fallback.

use serde_json::{Value, json};
use slidegate::SystemClock;
use slidegate_server::{Config, ConfigError, Runtime};
use slidegate_testkit::servers::{Flavour, RedisServer};

use crate::http::service::Service;

fn policy(url: &str) -> String {
    format!(
        "
version: 1
store: {{ kind: redis, url: '{url}', timeout: 30s, instances: 2 }}
server: {{ permit_secret: 'sixteen characters' }}
rules:
  - {{ name: local, match: {{ path: /local }}, limits: [4/h], refundable: true }}
  - {{ name: allow, match: {{ path: /allow }}, limits: [4/h], on_store_error: allow }}
  - {{ name: deny, match: {{ path: /deny }}, limits: [4/h], on_store_error: deny }}
"
    )
}

#[tokio::test]
async fn rules_say_what_holds_without_a_store() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let config =
        Config::parse("test.yaml", &policy(&redis.url())).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut client = service.client().await;
    let reserved = client.check(json!({ "path": "/local" })).await;
    assert_eq!((reserved.at("/source"), reserved.at("/remaining")), ("store".into(), 3.into()));
    redis.kill();

    // One of two nodes has half of the quota, and has used one of its share.
    let local = client.check(json!({ "path": "/local" })).await;
    assert_eq!((local.status, local.at("/source"), local.at("/remaining")), (200, "local".into(), 0.into()));
    // The numbers are those of the share, and marked so.
    assert_eq!((local.at("/limits/0/quota"), local.at("/limits/0/share_of")), (2.into(), 4.into()));
    assert_eq!(reserved.at("/limits/0").get("share_of"), None);
    assert_eq!(local.header("ratelimit-policy"), Some("\"local-4/h\";q=2;w=3600"));
    let never = client.post("/v1/check", &json!({ "attributes": { "path": "/local" }, "cost": 3 })).await;
    assert_eq!((never.status, never.at("/limits/0/outcome")), (429, "never".into()));
    let detail = "local-4/h: the cost is more than this node's share of the quota, by which it decides while the store \
                  does not answer; ask for less, or again later";
    assert_eq!(never.at("/detail"), detail);
    let call =
        json!({ "domain": "d", "descriptors": [{ "entries": [{ "key": "path", "value": "/local" }] }] });
    let call = client.post("/json", &call).await;
    assert_eq!(call.at("/statuses/0/currentLimit/requestsPerUnit"), 2);
    let ad_hoc = json!({ "key": "alice", "quota": 4, "window_ms": 60_000, "cost": 3 });
    let ad_hoc = client.post("/v1/limit", &ad_hoc).await;
    assert_eq!((ad_hoc.at("/limits/0/quota"), ad_hoc.at("/limits/0/share_of")), (2.into(), 4.into()));
    assert_eq!(ad_hoc.at("/limits/0/outcome"), "never");
    assert_eq!(client.check(json!({ "path": "/local" })).await.status, 429);

    let allowed = client.check(json!({ "path": "/allow" })).await;
    assert_eq!((allowed.status, allowed.at("/source")), (200, "assumed".into()));
    assert_eq!((allowed.at("/remaining"), allowed.at("/limits/0/remaining")), (Value::Null, Value::Null));
    assert_eq!(allowed.header("ratelimit"), None);

    let denied = client.check(json!({ "path": "/deny" })).await;
    assert_eq!((denied.status, denied.at("/source")), (429, "assumed".into()));
    let kind = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity";
    assert_eq!((denied.at("/type"), denied.header("retry-after")), (kind.into(), Some("1")));

    // What is to be given back cannot be: somebody else may have to know of it.
    let refund = client.post("/v1/refund", &json!({ "permit": reserved.at("/permit") })).await;
    assert_eq!((refund.status, refund.header("retry-after")), (503, Some("1")));
}

#[tokio::test]
async fn a_denial_that_still_holds_is_repeated() {
    let redis = RedisServer::start(Flavour::Redis70);
    let policy = format!(
        "version: 1\nstore: {{ kind: redis, url: '{}', timeout: 30s, deny_cache: 1h }}
rules: [{{ name: api, limits: [1/h] }}]",
        redis.url()
    );
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut client = service.client().await;
    assert_eq!(client.statuses(2, json!({})).await, [200, 429]);
    let cached = client.check(json!({})).await;
    assert_eq!((cached.status, cached.at("/source")), (429, "cache".into()));
    assert_eq!((cached.at("/remaining"), cached.at("/limits/0/reset_after_ms")), (Value::Null, Value::Null));
    assert!(cached.header("retry-after").is_some());
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let parse = |settings| Config::parse("test.yaml", &format!("version: 1\n{settings}\nrules: []"));
    let unreadable = parse("server: { attributes: { api_key: 'not a header' } }").expect_err("an error");
    assert!(unreadable.to_string().contains("not a header"), "{unreadable}");
    let unusable =
        parse("server: { attributes: { ip: X-Real-Ip } }").unwrap_or_else(|errors| panic!("{errors}"));
    let error: ConfigError = Runtime::new(unusable).err().expect("an error");
    assert!(error.to_string().contains("ip comes from the connection"), "{error}");
}
