//! `GET /check?userId=`: as RLAAS has it.

use serde_json::json;

use crate::http::service::{BOTH, Kind, Service};

#[tokio::test]
async fn five_in_sixty_seconds() {
    // 3 seconds into a minute: 57 are left of it.
    for (algorithm, ttl) in [("log", 60), ("counter", 60), ("fixed", 57)] {
        for kind in BOTH {
            let policy = format!(
                "rules: [{{ name: rlaas, match: {{ path: /never }}, key: [userId],
                   limits: [{{ quota: 5, window: 60s, algorithm: {algorithm} }}] }}]"
            );
            let service = Service::start(kind, &policy).await;
            let mut client = service.client().await;
            for count in 1..=5 {
                let answer = client.get("/check?userId=alice", &[]).await;
                let expected = json!({ "allowed": true, "currentCount": count, "ttl": ttl });
                assert_eq!((answer.status, answer.json()), (200, expected), "{algorithm} {kind:?}");
            }
            let denied = client.get("/check?userId=alice", &[]).await;
            let expected = json!({ "allowed": false, "currentCount": 5, "ttl": ttl });
            assert_eq!((denied.status, denied.json()), (429, expected), "{algorithm} {kind:?}");
            assert!(denied.header("retry-after").is_some());
            assert_eq!(client.get("/check?userId=b%20b", &[]).await.status, 200);
            service.advance_ms(120_000);
            assert_eq!(client.send("HEAD", "/check?userId=alice", &[], b"").await.status, 200);
        }
    }
}

/// What was settled above its reservation counts, also above the quota.
#[tokio::test]
async fn the_count_is_not_cut_at_the_quota() {
    let policy = "rules: [{ name: rlaas, key: [userId], refundable: true, limits: [5/min] }]";
    for kind in BOTH {
        let service = Service::start(kind, policy).await;
        let mut client = service.client().await;
        let check = json!({ "attributes": { "userId": "alice" } });
        let permit = client.post("/v1/check", &check).await.json()["permit"].clone();
        let settled = client.post("/v1/settle", &json!({ "permit": permit, "cost": 12 })).await;
        assert_eq!(settled.status, 200, "{kind:?}");
        let denied = client.get("/check?userId=alice", &[]).await;
        let expected = json!({ "allowed": false, "currentCount": 12, "ttl": 60 });
        assert_eq!((denied.status, denied.json()), (429, expected), "{kind:?}");
    }
}

#[tokio::test]
async fn it_takes_a_rule_and_a_user() {
    let without = Service::start(Kind::Memory, "rules: []").await;
    let answer = without.client().await.get("/check?userId=alice", &[]).await;
    assert_eq!(answer.status, 404);
    assert!(answer.detail().contains("rlaas"), "{}", answer.detail());
    let policy = "rules: [{ name: rlaas, key: [userId], limits: [5/min], deny: [{ userId: mallory }] }]";
    let service = Service::start(Kind::Memory, policy).await;
    let mut client = service.client().await;
    for target in
        ["/check", "/check?", "/check?userId", "/check?userId=", "/check?user=a", "/check?userId=a&x=1"]
    {
        assert_eq!(client.get(target, &[]).await.status, 400, "{target}");
    }
    assert_eq!(client.get("/check?userId=mallory", &[]).await.status, 403);
}
