//! Forward authentication: the headers of a proxy, and its responses.

use serde_json::Value;

use crate::http::service::{BOTH, Kind, Service};

const POLICY: &str = "
server:
  trusted_proxies: [127.0.0.0/8]
  attributes: { api_key: X-Api-Key }
rules:
  - { name: login, match: { method: POST, path: /login, host: example.com }, key: [ip], limits: [2/min] }
  - { name: api, match: { path: '/api/{*rest}' }, key: ['api_key|ip'], limits: [3/min], deny: [{ api_key: leaked }] }
";

#[tokio::test]
async fn two_pass_and_the_third_does_not() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let request = [
            ("x-forwarded-method", "POST"),
            ("x-forwarded-uri", "/login?next=/"),
            ("x-forwarded-host", "Example.com:443"),
            ("x-forwarded-for", "203.0.113.7"),
        ];
        for left in [1, 0] {
            let passes = client.get("/v1/authorize", &request).await;
            assert_eq!((passes.status, passes.body.len()), (200, 0));
            let expected = format!("\"login-2/min\";r={left};t=60");
            assert_eq!(passes.header("ratelimit"), Some(expected.as_str()));
        }
        let refused = client.get("/v1/authorize", &request).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")));
        assert_eq!(refused.header("content-type"), Some("application/problem+json"));
        // Another client, and another method.
        let other = [request[0], request[1], request[2], ("x-forwarded-for", "203.0.113.8")];
        assert_eq!(client.get("/v1/authorize", &other).await.status, 200);
        let get = [("x-forwarded-method", "GET"), request[1], request[2], request[3]];
        assert_eq!(client.get("/v1/authorize", &get).await.status, 200);
    }
}

#[tokio::test]
async fn what_a_client_makes_up_changes_nothing() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let mut statuses = Vec::new();
    for forged in ["", "198.51.100.1, ", "unknown, ", "127.0.0.1, ", "198.51.100.2, 198.51.100.3, "] {
        let hops = format!("{forged}203.0.113.7");
        let request = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", hops.as_str())];
        statuses.push(client.get("/v1/authorize", &request).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    // A proxy adds its line to the client's.
    let request = [
        ("x-forwarded-uri", "/api/x"),
        ("x-forwarded-for", "198.51.100.9"),
        ("x-forwarded-for", "203.0.113.7"),
    ];
    assert_eq!(client.get("/v1/authorize", &request).await.status, 429);
}

#[tokio::test]
async fn a_peer_that_is_not_trusted_speaks_for_itself() {
    let policy = POLICY.replace("127.0.0.0/8", "10.0.0.0/8");
    let service = Service::start(Kind::Memory, &policy).await;
    let mut client = service.client().await;
    let mut statuses = Vec::new();
    for n in 0..4 {
        let hops = format!("203.0.113.{n}");
        let request = [("x-forwarded-uri", "/api/x"), ("x-forwarded-for", hops.as_str())];
        statuses.push(client.get("/v1/authorize", &request).await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
}

#[tokio::test]
async fn attributes_come_from_the_headers_that_are_named() {
    for kind in BOTH {
        let service = Service::start(kind, POLICY).await;
        let mut client = service.client().await;
        let request = |key: &'static str| [("x-original-uri", "/api/x"), ("x-api-key", key)];
        for status in [200, 200, 200, 429] {
            assert_eq!(client.get("/v1/authorize", &request("k")).await.status, status);
        }
        assert_eq!(client.get("/v1/authorize", &request("l")).await.status, 200);
        let barred = client.get("/v1/authorize?deny_status=401", &request("leaked")).await;
        assert_eq!((barred.status, barred.at("/rule")), (403, "api".into()));
        assert_eq!(barred.header("ratelimit"), None);
        // Without the header it is the address that counts.
        assert_eq!(client.get("/v1/authorize", &[("x-original-uri", "/api/x")]).await.status, 200);
    }
}

#[tokio::test]
async fn a_refusal_has_the_status_that_the_proxy_can_use() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    let request = [("x-forwarded-uri", "/api/x")];
    assert_eq!(client.get("/v1/authorize?cost=3", &request).await.status, 200);
    for status in [401, 403, 429] {
        let refused = client.get(&format!("/v1/authorize?deny_status={status}"), &request).await;
        assert_eq!((refused.status, refused.at("/status")), (status, status.into()));
        assert_eq!(refused.header("retry-after"), Some("60"));
        assert_eq!(refused.at("/violated-policies"), Value::from(vec!["api-3/min"]));
    }
    let peek = client.get("/v1/authorize?cost=0", &request).await;
    assert_eq!(peek.status, 200);
    let never = client.get("/v1/authorize?cost=4", &request).await;
    assert_eq!((never.status, never.header("retry-after")), (429, None));
}

#[tokio::test]
async fn any_method_asks() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
        assert_eq!(client.send(method, "/v1/authorize", &[], b"").await.status, 200, "{method}");
    }
    // A body that a proxy passes on is nothing to us.
    assert_eq!(client.send("POST", "/v1/authorize", &[], b"not json").await.status, 200);
    assert_eq!(client.get("/v1/authorize", &[]).await.status, 200);
}

#[tokio::test]
async fn what_is_not_clear_is_refused() {
    let service = Service::start(Kind::Memory, POLICY).await;
    let mut client = service.client().await;
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str);
    let rows: &[Row<'_>] = &[
        ("?deny_status=418", &[], "deny_status is 401, 403 or 429"),
        ("?status=403", &[], "unknown parameter \"status\""),
        ("?cost=many", &[], "cost is a whole number"),
        ("", &[("x-forwarded-uri", "/a"), ("x-original-uri", "/b")], "contradict"),
        ("", &[("x-forwarded-method", "GET"), ("x-original-method", "PUT")], "contradict"),
        ("", &[("x-api-key", "a"), ("x-api-key", "b")], "x-api-key is given twice"),
    ];
    for (query, headers, expected) in rows {
        let answer = client.get(&format!("/v1/authorize{query}"), headers).await;
        assert_eq!(answer.status, 400, "{query} {headers:?}");
        assert!(answer.detail().contains(expected), "{}", answer.detail());
    }
    let long = "x".repeat(5_000);
    let answer = client.get("/v1/authorize", &[("x-api-key", &long)]).await;
    assert_eq!(answer.status, 400);
}

/// Who a proxy had a request from is not the proxy, whatever it writes: rules may trust its
/// address.
#[tokio::test]
async fn a_hop_that_is_no_address_is_not_the_proxy() {
    let policy = "
server: { trusted_proxies: [127.0.0.0/8, 10.0.0.0/8] }
rules: [{ name: api, key: [ip], limits: [1/day], allow: [{ ip: [127.0.0.0/8, 10.0.0.0/8] }] }]
";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    let mut statuses = Vec::new();
    for hops in ["unknown", "_hidden, 10.0.0.2", "203.0.113.7, for=x", "unix:", "10.0.0.9", "203.0.113.7"] {
        statuses.push(client.get("/v1/authorize", &[("x-forwarded-for", hops)]).await.status);
    }
    // Those without an address share one subject; the proxies themselves are let in.
    assert_eq!(statuses, [200, 429, 429, 429, 200, 200]);
}
