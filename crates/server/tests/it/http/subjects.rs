//! Whom a limit counts for: identities with a fallback, addresses by their network, and what is
//! missing.

use serde_json::json;

use crate::http::service::{BOTH, Service};

#[tokio::test]
async fn the_first_identity_that_is_present() {
    let policy = "rules: [{ name: api, key: ['api_key|user|ip'], limits: [2/min] }]";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let ip = "203.0.113.7";
        assert_eq!(client.statuses(3, json!({ "api_key": "k", "ip": ip })).await, [200, 200, 429]);
        // The same address with another key, with a user, and with nothing else.
        assert_eq!(client.statuses(1, json!({ "api_key": "l", "ip": ip })).await, [200]);
        assert_eq!(client.statuses(3, json!({ "user": "k", "ip": ip })).await, [200, 200, 429]);
        assert_eq!(client.statuses(3, json!({ "ip": ip })).await, [200, 200, 429]);
        // A value under one name is not the same as under another.
        assert_eq!(client.statuses(1, json!({ "user": ip })).await, [200]);
    }
}

#[tokio::test]
async fn addresses_are_what_they_mean() {
    let policy = "rules: [{ name: api, key: [ip], limits: [2/min] }]";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        // IPv4 in IPv6 is IPv4, and one client has a network of IPv6 addresses.
        for same in [["203.0.113.7", "::ffff:203.0.113.7"], ["2001:db8::1", "2001:DB8:0::ffff"]] {
            assert_eq!(client.statuses(1, json!({ "ip": same[0] })).await, [200]);
            assert_eq!(client.statuses(2, json!({ "ip": same[1] })).await, [200, 429]);
        }
        assert_eq!(client.statuses(1, json!({ "ip": "2001:db8:0:1::1" })).await, [200]);
        let wrong = client.check(json!({ "ip": "203.0.113" })).await;
        assert_eq!(wrong.status, 400);
        assert!(wrong.detail().contains("203.0.113"), "{}", wrong.detail());
    }
}

#[tokio::test]
async fn a_key_attribute_is_missing() {
    let policy = "
rules:
  - { name: shared, match: { path: /shared }, key: [user], limits: [2/min] }
  - { name: skipped, match: { path: /skip }, key: [user], limits: [2/min], missing: skip }
  - { name: denied, match: { path: /deny }, key: [user], limits: [2/min], missing: deny }
";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let without = |path: &str| json!({ "path": path });
        assert_eq!(client.statuses(3, without("/shared")).await, [200, 200, 429]);
        // An empty value is the same as none.
        assert_eq!(client.statuses(1, json!({ "path": "/shared", "user": "" })).await, [429]);
        assert_eq!(client.statuses(5, without("/skip")).await, [200; 5]);
        let denied = client.check(without("/deny")).await;
        assert_eq!(denied.status, 403);
        assert_eq!((denied.at("/allowed"), denied.at("/rule")), (false.into(), "denied".into()));
        assert_eq!(denied.detail(), "rule denied blocks this request: it lacks an attribute of its key");
        assert_eq!(client.statuses(1, json!({ "path": "/deny", "user": "a" })).await, [200]);
    }
}
