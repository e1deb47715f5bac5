//! `GET /v1/top`: the same lists, longer, and for those who ask once.

use serde_json::json;

use super::super::{LOGIN, Operator, with_admin};
use super::from;
use crate::http::service::{BOTH, Kind, Service};

#[tokio::test]
async fn who_is_refused_is_listed() {
    for kind in BOTH {
        let service = Service::start(kind, &with_admin(LOGIN)).await;
        let mut client = service.client().await;
        for (ip, times) in [("203.0.113.7", 5), ("203.0.113.8", 9), ("203.0.113.9", 1)] {
            client.statuses(times, from(ip)).await;
        }
        let mut operator = Operator::new(&service).await;
        let denied = operator.get("/v1/top").await;
        let entry = |ip: &str, count: u64| json!({ "rule": "login", "subject": { "ip": ip }, "count": count, "error": 0 });
        let both = [entry("203.0.113.8", 7), entry("203.0.113.7", 3)];
        assert_eq!(denied.at("/entries"), json!(both), "{kind:?}");
        assert_eq!(denied.at("/total"), 10);
        assert_eq!(operator.get("/v1/top?list=denied&most=1").await.at("/entries"), json!(both[..1]));
        let near = operator.get("/v1/top?list=near&most=1000").await;
        assert_eq!(near.at("/entries").as_array().map(Vec::len), Some(2), "{near:?}");
    }
}

/// Of a limit that came along in a descriptor all parts of the key are told, so no two subjects
/// look the same.
#[tokio::test]
async fn subjects_of_limits_in_descriptors_are_distinct() {
    for kind in BOTH {
        let service = Service::start(kind, &with_admin(LOGIN)).await;
        let mut client = service.client().await;
        for (ip, times) in [("203.0.113.7", 2), ("203.0.113.8", 3)] {
            let entries =
                json!([{ "key": "remote_address", "value": ip }, { "key": "path", "value": "/api" }]);
            let limit = json!({ "requests_per_unit": 1, "unit": "DAY" });
            let call = json!({ "domain": "edge", "descriptors": [{ "entries": entries, "limit": limit }] });
            for time in 0..times {
                assert_eq!(client.post("/json", &call).await.status, if time == 0 { 200 } else { 429 });
            }
        }
        let entry = |ip: &str, count: u64| {
            let subject = json!({ "key1": "edge", "key2": "remote_address", "key3": ip, "key4": "path", "key5": "/api" });
            json!({ "rule": "(ad hoc)", "subject": subject, "count": count, "error": 0 })
        };
        let denied = Operator::new(&service).await.get("/v1/top").await;
        assert_eq!(
            denied.at("/entries"),
            json!([entry("203.0.113.8", 2), entry("203.0.113.7", 1)]),
            "{kind:?}"
        );
    }
}

/// Who is named by the beginning of a long key cannot be looked up by it, and that is told.
#[tokio::test]
async fn a_cut_list_says_so() {
    let service =
        Service::start(Kind::Memory, &with_admin("  - { name: users, key: [user], limits: [1/day] }\n"))
            .await;
    let mut client = service.client().await;
    for user in ["x".repeat(256), "x".repeat(600)] {
        assert_eq!(client.statuses(2, json!({ "user": user })).await, [200, 429]);
    }
    let denied = Operator::new(&service).await.get("/v1/top").await;
    let entries = denied.at("/entries");
    let mut cut: Vec<_> = entries
        .as_array()
        .into_iter()
        .flatten()
        .map(|entry| (entry["subject"]["user"].as_str().map(str::len), entry.get("cut").cloned()))
        .collect();
    cut.sort_by_key(|(_, cut)| cut.is_some());
    assert_eq!(cut, [(Some(256), None), (Some(256), Some(json!(true)))], "{entries}");
}

#[tokio::test]
async fn invalid_queries_are_errors() {
    let service = Service::start(Kind::Memory, &with_admin(LOGIN)).await;
    let mut operator = Operator::new(&service).await;
    for (query, word) in [
        ("list=all", "near"),
        ("most=0", "1000"),
        ("most=1001", "1000"),
        ("most=many", "many"),
        ("least=1", "most"),
    ] {
        let answer = operator.get(&format!("/v1/top?{query}")).await;
        assert_eq!(answer.status, 400, "{query}");
        assert!(answer.detail().contains(word), "{query}: {}", answer.detail());
    }
}
