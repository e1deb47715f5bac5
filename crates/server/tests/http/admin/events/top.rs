//! `GET /v1/top`: the same lists, longer, and for those who ask once.

use serde_json::json;

use super::super::{LOGIN, Operator, with_admin};
use super::from;
use crate::service::{BOTH, Kind, Service};

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

#[tokio::test]
async fn what_makes_no_sense_is_told() {
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
