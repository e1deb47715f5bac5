//! Calls while the store is unavailable, or need not.

use slidegate::SystemClock;
use slidegate_server::{Config, Runtime};
use slidegate_testkit::servers::{Flavour, RedisServer};

use super::{ask, statuses};
use crate::http::service::Service;

#[tokio::test]
async fn without_the_store_every_rule_says_what_holds() {
    let mut redis = RedisServer::start(Flavour::Redis70);
    let policy = format!(
        "
version: 1
store: {{ kind: redis, url: '{}', timeout: 30s, instances: 2 }}
rules:
  - {{ name: local, match: {{ path: /local }}, limits: [4/h] }}
  - {{ name: allow, match: {{ path: /allow }}, limits: [4/h], on_store_error: allow }}
  - {{ name: deny, match: {{ path: /deny }}, limits: [4/h], on_store_error: deny }}
  - {{ name: lists, match: {{ path: /lists }}, key: [user], limits: [4/h], deny: [{{ user: mallory }}] }}
",
        redis.url()
    );
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut client = service.client().await;
    assert_eq!(statuses(&ask(&mut client, &["path=/local"]).await), "OK 3");
    redis.kill();
    // One of two nodes has half of the quota, and has used one of its share.
    assert_eq!(statuses(&ask(&mut client, &["path=/local"]).await), "OK 0");
    assert_eq!(statuses(&ask(&mut client, &["path=/local"]).await), "OVER_LIMIT 0");
    // Nobody knows what is left.
    assert_eq!(statuses(&ask(&mut client, &["path=/allow"]).await), "OK");
    let unavailable = ask(&mut client, &["path=/allow", "path=/deny"]).await;
    assert_eq!((unavailable.status, unavailable.header("retry-after")), (503, Some("1")));
    assert!(unavailable.detail().contains("the rule deny denies meanwhile"), "{}", unavailable.detail());
    // Whom a list refuses is refused without the store: an error would let it pass.
    let refused = ask(&mut client, &["path=/deny", "path=/lists user=mallory"]).await;
    assert_eq!((refused.status, statuses(&refused)), (429, "OVER_LIMIT 0, OVER_LIMIT".to_owned()));
}

#[tokio::test]
async fn a_denial_that_still_holds_is_repeated() {
    let redis = RedisServer::start(Flavour::Redis70);
    let policy = format!(
        "version: 1\nstore: {{ kind: redis, url: '{}', timeout: 30s, deny_cache: 1h }}
rules: [{{ name: api, key: [user], limits: [1/h] }}]",
        redis.url()
    );
    let config = Config::parse("test.yaml", &policy).unwrap_or_else(|errors| panic!("{errors}"));
    let app = Runtime::new(config).expect("settings");
    let service = Service::serve(app, SystemClock::new(), None).await;
    let mut client = service.client().await;
    let both = ["user=alice", "user=bob"];
    assert_eq!(statuses(&ask(&mut client, &both[..1]).await), "OK 0");
    assert_eq!(statuses(&ask(&mut client, &both[..1]).await), "OVER_LIMIT 0");
    // Rules that do not match are not in the response.
    let repeated = ask(&mut client, &both).await;
    assert_eq!((repeated.status, statuses(&repeated)), (429, "OVER_LIMIT 0, OK".to_owned()));
    assert_eq!(repeated.at("/statuses/0/currentLimit/unit"), "HOUR");
    assert!(repeated.at("/statuses/0/durationUntilReset").is_string());
}
